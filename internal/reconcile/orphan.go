package reconcile

import (
	"context"

	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
)

// childrenStay reports whether who deletes the parent wants its children to stay, or has wanted that.
func (p *pass) childrenStay() bool {
	return teardown.CascadesOrphan(p.parent) || p.noted(stay) || p.r.orphaning.Has(p.key, p.parent.UID())
}

// orphan has the children stay, and reports whether that is done. Before anything else, the parent is annotated, so that later
// passes know.
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
	p.unbind(ctx)
	return len(p.problems) == 0
}

// unbind sees that no owner reference binds a child to the parent any more. The garbage collector takes them away; one that was on
// its way just then, with a child, is back, and once the parent is gone, the collector would delete that child.
func (p *pass) unbind(ctx context.Context) {
	for _, l := range p.observe() {
		if _, bound := l.Object.Owner(p.parent.UID()); !bound || l.Object.Deleting() {
			continue
		}
		if teardown.CascadesOrphan(p.parent) { // the parent changes when the collector is done
			p.problems = append(p.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true})
			return
		}
		if issue := p.setMetadata(ctx, l, request.Metadata(l.Unbind(p.parent.UID())), "release"); issue != nil {
			p.problems = append(p.problems, issue)
			return
		}
	}
}

// leave has a child outlive its parent that no owner reference binds to it: by a mark, so that nobody takes the child for one
// that was left behind when the parent is gone.
func (p *pass) leave(ctx context.Context, l *child.Live) *problem.Problem {
	if !l.Object.CrossScope() || l.Outlives() {
		return nil
	}
	return p.setMetadata(ctx, l, request.Metadata(p.Factory.Maker(p.parent).Retain(l)), "mark")
}

// setMetadata changes metadata of a child that is to outlive its parent. verb says in messages what that does to the child.
func (p *pass) setMetadata(ctx context.Context, l *child.Live, change request.Metadata, verb string) *problem.Problem {
	after, err := p.Cluster.SetMetadata(ctx, running.LocateLive(l), change, p.Manager)
	p.Meter.Write(measure.Update, running.AnswerOf(err))
	switch {
	case answers.MissingObject(err):
		return nil
	case p.Overtaken(ctx, err, running.LocateLive(l), l.Object.UID(), change.Version):
		return &problem.Problem{Reason: v1.ReasonFinalizing, Message: l.ID().String() + " has just changed", Waiting: true, Pending: true, Retry: problem.RetryNow}
	case err != nil:
		return p.Rights.Refusal(err, verb+" "+l.ID().String(), l.Object.Namespace(), l.Kind)
	}
	p.keep(after, l.Kind)
	klog.FromContext(ctx).V(2).Info("changed a child that outlives its parent", "change", verb, "controller", p.Name, "parent", p.key.Parent.String(), "child", l.ID().String())
	return nil
}
