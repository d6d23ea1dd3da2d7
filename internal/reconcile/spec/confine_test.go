package spec

import (
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

// TestNamespacedControllersNeedNamespacedKinds compares the message with that for a TemplateController that lists a namespace.
func TestNamespacedControllersNeedNamespacedKinds(t *testing.T) {
	of := &v1.TemplateControllerSpec{Watch: v1.Watch{Namespaces: []string{"team"}}}
	related := &Related{Related: &v1.Related{Name: "a", Namespaces: []string{"team"}}}
	const (
		remove = "Node is cluster-scoped: remove namespaces and namespaceSelector"
		ask    = "Node is cluster-scoped, and a NamespacedTemplateController only has access to its namespace: use a namespaced kind, or ask an administrator for a TemplateController"
	)
	node, pod := kind.Kind{Kind: "Node"}, kind.Kind{Kind: "Pod", Namespaced: true}
	for why, row := range map[string]struct {
		got  *Rejection
		want string
	}{
		"parents of a TemplateController":           {CheckKind("tc", of, node), "spec.watch: " + remove},
		"parents of one of a namespace":             {CheckKind("team/tc", of, node), "spec.watch: " + ask},
		"parents of one of a namespace that fit":    {CheckKind("team/tc", of, pod), ""},
		"related objects of a TemplateController":   {related.CheckKind("tc", node), "spec.related[a]: " + remove},
		"related objects of one of a namespace":     {related.CheckKind("team/tc", node), "spec.related[a]: " + ask},
		"related objects of a namespace, which fit": {related.CheckKind("team/tc", pod), ""},
	} {
		t.Run(why, func(t *testing.T) {
			got := ""
			if row.got != nil {
				got = row.got.Message
			}
			if got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestPlaceFaultAdvisesWhatIsPossible: a NamespacedTemplateController has no scope Cluster.
func TestPlaceFaultAdvisesWhatIsPossible(t *testing.T) {
	for why, row := range map[string]struct {
		placing   Placing
		namespace string
		want      string
	}{
		"a cluster-scoped child": {
			Placing{Child: "Role", Parent: "App", ParentNamespaced: true}, "", "set scope: Cluster in this child template, or watch a cluster-scoped kind",
		},
		"a cluster-scoped child in a namespace": {
			Placing{Child: "Role", Parent: "App", ParentNamespaced: true, Confined: true}, "", "ask an administrator for a TemplateController",
		},
		"another namespace": {
			Placing{ChildNamespaced: true, ParentNamespaced: true}, "far", "remove metadata.namespace, or set scope: Cluster in this child template",
		},
		"another namespace, from a namespace": {
			Placing{ChildNamespaced: true, ParentNamespaced: true, Confined: true}, "far", "remove metadata.namespace, or ask an administrator for a TemplateController",
		},
	} {
		t.Run(why, func(t *testing.T) {
			if got := row.placing.Fault(row.namespace, "home").Advice; got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
