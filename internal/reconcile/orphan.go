package reconcile

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
)

// childrenStay reports whether who deletes the parent wants its children to stay, or has wanted that.
func (p *pass) childrenStay() bool {
	return teardown.CascadesOrphan(p.parent) || p.noted(stay) || p.r.orphaning.Has(p.key, p.parent.UID())
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
		if issue := p.leave(ctx, l); issue != nil {
			p.problems = append(p.problems, issue)
		}
	}
	return len(p.problems) == 0
}

// leave has a child outlive its parent that no owner reference binds to it: by a mark, so that nobody takes the child for one
// that was left behind when the parent is gone.
func (p *pass) leave(ctx context.Context, l *child.Live) *problem.Problem {
	if !l.Object.CrossScope() || l.Outlives() {
		return nil
	}
	change := kube.Metadata{UID: l.Object.UID(), Annotations: map[string]any{v1.AnnotationDeletion: string(v1.DeletionOrphan)}}
	after, err := p.Cluster.SetMetadata(ctx, running.LocateLive(l), change, p.Manager)
	p.Meter.Write(measure.Update, running.AnswerOf(err))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return p.Rights.Refusal(err, "mark "+l.ID().String(), l.Object.Namespace(), l.Kind)
	}
	p.keep(after, l.Kind)
	klog.FromContext(ctx).V(2).Info("marked a child that outlives its parent", "controller", p.Name, "parent", p.key.Parent.String(), "child", l.ID().String())
	return nil
}
