package child

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

func TestDepthOfAnObject(t *testing.T) {
	for annotation, want := range map[string]int{"": 0, "x": 0, "-1": 0, "99999999999999999999": 0, "0": 0, "1": 1, "7": 7} {
		o := packed(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {%s: %q}}}", v1.AnnotationDepth, annotation))
		if got := depthOf(o); got != want {
			t.Errorf("annotation %q: depth %d, want %d", annotation, got, want)
		}
	}
}

// knowing is a cluster that knows kinds, or does not.
type knowing bool

func (k knowing) Resolve(schema.GroupVersionKind) (kind.Kind, error) { return kind.Kind{}, nil }
func (k knowing) Known(schema.GroupVersionKind) bool                 { return bool(k) }
func (k knowing) Selects(string, labels.Labels) bool                 { return false }

func TestKindIsTakenUpOnce(t *testing.T) {
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

func TestKindsThatCannotBeCreated(t *testing.T) {
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
