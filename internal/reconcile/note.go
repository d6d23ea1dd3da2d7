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
func (p *pass) noted(what note) bool { return p.parent.Annotation(p.Finalizer) == p.value(what) }

func (p *pass) value(what note) string { return string(what) + "/" + string(p.parent.UID()) }

// note annotates the parent, and reports whether that is done.
func (p *pass) note(ctx context.Context, what note) bool {
	return p.annotate(ctx, p.Finalizer, p.value(what))
}

// annotate gives the parent an annotation, and reports whether that is done.
func (p *pass) annotate(ctx context.Context, key, value string) bool {
	change := request.Metadata{UID: p.parent.UID(), Annotations: map[string]any{key: value}}
	after, err := p.Cluster.SetMetadata(ctx, p.LocateParent(p.key), change, p.Manager)
	if err != nil {
		p.problems = append(p.problems, p.r.finalizerProblem(ctx, p.Controller, p.key, p.parent, writeFailure{err, "annotate the object for"}))
		return false
	}
	p.parent = after
	p.ParentCache(after.Namespace()).Put(after, p.Name)
	klog.FromContext(ctx).V(2).Info("annotated a parent that is being deleted", "controller", p.Name, "parent", p.key.Parent.String(), "annotation", key)
	return true
}
