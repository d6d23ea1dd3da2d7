package simulate

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// gone is the verdict for a deleted parent.
var gone = status.Verdict{Status: "False", Reason: v1.ReasonDeleting, Message: "the object is being deleted"}

// IsDeleting reports whether an object has a deletion timestamp.
func IsDeleting(content map[string]any) bool {
	return Map(content["metadata"])["deletionTimestamp"] != nil
}

// Deleted returns the State after a deletion request for the parent. If its deletion needs a finalizer, the parent has it.
func (s State) Deleted() State {
	s.Parent = deleted(s.Parent, s.Now)
	return s
}

// deleted returns an object with a finalizer after a deletion request.
func deleted(content map[string]any, now time.Time) map[string]any {
	generation, ok := Map(content["metadata"])["generation"].(int64)
	if !ok {
		generation = 1
	}
	return memserver.Patch(content, map[string]any{"metadata": map[string]any{
		"deletionTimestamp": now.UTC().Format(time.RFC3339), "deletionGracePeriodSeconds": int64(0), "generation": generation + 1,
	}})
}

// isReleased reports whether the parent is deleted, or only has finalizers of others.
func (w *fakeCluster) isReleased() bool {
	parent := w.server.Objects[w.parent]
	return parent == nil || parent.GetDeletionTimestamp() != nil && !slices.Contains(parent.GetFinalizers(), w.controller.Finalizer)
}

// orphan does what the garbage collector does when a parent is deleted with orphan propagation.
func (w *fakeCluster) orphan() {
	parent := w.server.Objects[w.parent]
	if parent == nil || parent.GetDeletionTimestamp() == nil || !plan.CascadesOrphan(read(parent.Object)) {
		return
	}
	w.collect(read(parent.Object))
	next := parent.DeepCopy()
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerOrphanDependents }))
	w.server.Store(w.parent, next)
}

// collect does what the garbage collector does after the parent is deleted. Owners that are not in the State can exist.
func (w *fakeCluster) collect(parent *object.Object) {
	for _, at := range slices.Clone(w.order) {
		o := w.server.Objects[at]
		if o == nil {
			continue
		}
		owners := o.GetOwnerReferences()
		others := slices.DeleteFunc(slices.Clone(owners), func(r metav1.OwnerReference) bool { return r.UID == parent.UID() })
		switch {
		case len(others) == len(owners):
		case len(others) == 0 && !plan.CascadesOrphan(parent):
			w.server.End(at, metav1.DeletePropagationBackground)
		default:
			next := o.DeepCopy()
			next.SetOwnerReferences(others)
			w.server.Store(at, next)
		}
	}
}
