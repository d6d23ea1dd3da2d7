package child

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

func TestChildIDString(t *testing.T) {
	gk := schema.GroupKind{Group: "example.org", Kind: "Child"}
	for want, name := range map[string]types.NamespacedName{"Child ns/a": {Namespace: "ns", Name: "a"}, "Child a": {Name: "a"}} {
		if got := (ID{gk, name}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDepthIsReadFromAnnotation(t *testing.T) {
	for annotation, want := range map[string]int{"": 0, "x": 0, "-1": 0, "99999999999999999999": 0, "0": 0, "1": 1, "7": 7} {
		o := packed(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {%s: %q}}}", v1.AnnotationDepth, annotation))
		if got := depthOf(o); got != want {
			t.Errorf("annotation %q: depth %d, want %d", annotation, got, want)
		}
	}
}

// knowing is a Cluster that knows all kinds, or none.
type knowing bool

func (k knowing) Resolve(schema.GroupVersionKind) (kind.Kind, error) { return kind.Kind{}, nil }
func (k knowing) Known(schema.GroupVersionKind) bool                 { return bool(k) }
func (k knowing) Selects(string, labels.Labels) bool                 { return false }

func TestUnknownKindIsListedOnce(t *testing.T) {
	for known, want := range map[knowing]int{true: 0, false: 1} {
		var d Desired
		for range 2 {
			d.note(known, &Wanted{Content: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}})
		}
		if len(d.Unknown) != want {
			t.Errorf("known: %v, %v are taken up, want %d", known, d.Unknown, want)
		}
	}
}

func TestUnresolvableChildKindsAreReported(t *testing.T) {
	for why, row := range map[string]struct {
		err    error
		reason string
		retry  problem.Retry
	}{
		"the server does not have it": {&kind.NotFoundError{GVK: schema.GroupVersionKind{Version: "v1", Kind: "X"}}, v1.ReasonChildKindNotFound, problem.RetrySlow},
		"the server does not answer":  {errors.New("no answer"), v1.ReasonChildRequestFailed, problem.RetryBackoff},
	} {
		if p := kindProblem(&v1.Child{Name: "a"}, render.Object{}, row.err); p.Reason != row.reason || p.Retry != row.retry {
			t.Errorf("%s: %s, retry %v; want %s, %v", why, p.Reason, p.Retry, row.reason, row.retry)
		}
	}
}

func TestNamespaceOfChildDependsOnScope(t *testing.T) {
	const away = "the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace, or set scope: Cluster in this child template"
	for why, row := range map[string]struct {
		parent, child bool // whether the kind is namespaced
		scope         v1.ChildScope
		namespace     string
		want, fault   string
	}{
		"the parent's":                               {true, true, v1.ScopeNamespaced, "", "ns", ""},
		"the parent's, as it says":                   {true, true, v1.ScopeNamespaced, "ns", "ns", ""},
		"another one":                                {true, true, v1.ScopeNamespaced, "other", "other", away},
		"one of a parent without":                    {false, true, v1.ScopeNamespaced, "other", "other", ""},
		"none, of a parent without":                  {false, true, v1.ScopeNamespaced, "", "", "a Child is namespaced and its parent is not: set metadata.namespace"},
		"none, of two kinds without":                 {false, false, v1.ScopeNamespaced, "", "", ""},
		"one, of two kinds without":                  {false, false, v1.ScopeNamespaced, "other", "other", "a Child is cluster-scoped: remove metadata.namespace"},
		"a kind without, of a parent in a namespace": {true, false, v1.ScopeNamespaced, "", "", "a Child is cluster-scoped and cannot be owned by the namespaced Parent: an owner reference cannot point from a cluster-scoped to a namespaced object; set scope: Cluster in this child template, or watch a cluster-scoped kind"},

		"of scope Cluster: the parent's":       {true, true, v1.ScopeCluster, "", "ns", ""},
		"of scope Cluster: another one":        {true, true, v1.ScopeCluster, "other", "other", ""},
		"of scope Cluster: none":               {true, false, v1.ScopeCluster, "", "", ""},
		"of scope Cluster: one that is no use": {true, false, v1.ScopeCluster, "other", "other", "a Child is cluster-scoped: remove metadata.namespace"},
	} {
		metadata := map[string]any{"name": "a"}
		if row.namespace != "" {
			metadata["namespace"] = row.namespace
		}
		content := map[string]any{"metadata": metadata}
		f := &Factory{Ownership: &Ownership{Controller: "tc"}, ParentKind: kind.Kind{Kind: "Parent", Namespaced: row.parent}}
		fault := f.place(content, kind.Kind{Kind: "Child", Namespaced: row.child}, row.scope, packed(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: ns}}"))
		if got := nameOf(content).Namespace; fault != row.fault || got != row.want {
			t.Errorf("%s: namespace %q and fault %q, want %q and %q", why, got, fault, row.want, row.fault)
		}
	}
}
