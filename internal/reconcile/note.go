package reconcile

import (
	"context"

	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/request"
)

// note is what a parent that is being deleted says of its teardown, so that later passes, and other replicas, know. It is in an annotation
// called like the finalizer, with the parent's UID: another object may get the annotation with the text of this one.
type note string

const (
	finished note = "children-finished" // its finalize children have become ready
	stay     note = "children-stay"     // it was deleted without its dependents
)

// noted reports whether the parent says so.
func (rec *reconciliation) noted(what note) bool {
	return rec.parent.Annotation(rec.Finalizer) == rec.value(what)
}

func (rec *reconciliation) value(what note) string {
	return string(what) + "/" + string(rec.parent.UID())
}

// note annotates the parent, and reports whether that is done.
func (rec *reconciliation) note(ctx context.Context, what note) bool {
	return rec.annotate(ctx, rec.Finalizer, rec.value(what))
}

// annotate gives the parent an annotation, and reports whether that is done.
func (rec *reconciliation) annotate(ctx context.Context, key, value string) bool {
	change := request.Metadata{UID: rec.parent.UID(), Annotations: map[string]any{key: value}}
	after, err := rec.Cluster.SetMetadata(ctx, rec.LocateParent(rec.key), change, rec.Manager)
	if err != nil {
		rec.problems = append(rec.problems, rec.r.finalizerProblem(ctx, rec.Controller, rec.key, rec.parent, writeFailure{err, "annotate the object for"}))
		return false
	}
	rec.parent = after
	rec.ParentCache(after.Namespace()).Put(after, rec.Name)
	klog.FromContext(ctx).V(2).Info("annotated a parent that is being deleted", "controller", rec.Name, "parent", rec.key.Parent.String(), "annotation", key)
	return true
}
