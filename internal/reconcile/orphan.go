package reconcile

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// CascadesOrphan reports whether who deletes an object wants its dependents to stay.
func CascadesOrphan(o *object.Object) bool {
	return o.Deleting() && o.HasFinalizer(finalizerOrphan)
}

// finalizerOrphan is what the API server gives to an object that is deleted without its dependents. The garbage collector takes it
// away when it has seen to those with owner references, and waits for nobody.
const finalizerOrphan = "orphan"

// childrenStay reports whether who deletes the parent wants its children to stay, or has wanted that.
func (p *pass) childrenStay() bool {
	return CascadesOrphan(p.parent) || p.noted(stay) || p.r.orphaning.Has(p.key, p.parent.UID())
}

// orphan has the children stay that no owner reference binds to the parent, and reports whether that is done. The garbage
// collector sees to the others. Before anything else, the parent is annotated, so that later passes know.
func (p *pass) orphan(ctx context.Context) bool {
	if !p.noted(stay) && !p.note(ctx, stay) {
		return false
	}
	if !p.Complete(p.key.Parent.Namespace) {
		p.waitForChildren()
		return false
	}
	for _, l := range p.observe() {
		if !l.Object.CrossScope() || l.Outlives() {
			continue
		}
		change := kube.Metadata{UID: l.Object.UID(), Annotations: map[string]any{v1.AnnotationDeletion: string(v1.DeletionOrphan)}}
		after, err := p.Cluster.SetMetadata(ctx, running.LocateLive(l), change, p.Manager)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			p.problems = append(p.problems, p.Rights.Refusal(err, "mark "+l.ID().String(), l.Object.Namespace(), l.Kind))
		default:
			p.keep(after, l.Kind)
		}
	}
	return len(p.problems) == 0
}
