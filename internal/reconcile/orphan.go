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
func (rec *reconciliation) childrenStay() bool {
	return teardown.CascadesOrphan(rec.parent) || rec.noted(stay) || rec.r.Orphaning.Has(rec.key, rec.parent.UID())
}

// orphan has the children stay, and reports whether that is done. Before anything else, the parent is annotated, so that later
// passes know.
func (rec *reconciliation) orphan(ctx context.Context) bool {
	if !rec.noted(stay) && !rec.note(ctx, stay) {
		return false
	}
	if !rec.Complete(rec.key.Parent.Namespace) {
		rec.waitForChildren()
		return false
	}
	for _, l := range rec.observe() {
		if issue := rec.leave(ctx, l); issue != nil {
			rec.problems = append(rec.problems, issue)
		}
	}
	rec.unbind(ctx)
	return len(rec.problems) == 0
}

// unbind sees that no owner reference binds a child to the parent any more. The garbage collector takes them away; one that was on
// its way just then, with a child, is back, and once the parent is gone, the collector would delete that child.
func (rec *reconciliation) unbind(ctx context.Context) {
	for _, l := range rec.observe() {
		if _, bound := l.Object.Owner(rec.parent.UID()); !bound || l.Object.Deleting() {
			continue
		}
		if teardown.CascadesOrphan(rec.parent) { // the parent changes when the collector is done
			rec.problems = append(rec.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true})
			return
		}
		if issue := rec.setMetadata(ctx, l, request.Metadata(l.Unbind(rec.parent.UID())), "release"); issue != nil {
			rec.problems = append(rec.problems, issue)
			return
		}
	}
}

// leave has a child outlive its parent that no owner reference binds to it: by a mark, so that nobody takes the child for one
// that was left behind when the parent is gone.
func (rec *reconciliation) leave(ctx context.Context, l *child.Live) *problem.Problem {
	if !l.Object.CrossScope() || l.Outlives() {
		return nil
	}
	return rec.setMetadata(ctx, l, request.Metadata(rec.Factory.Maker(rec.parent).Retain(l)), "mark")
}

// setMetadata changes metadata of a child that is to outlive its parent. verb says in messages what that does to the child.
func (rec *reconciliation) setMetadata(ctx context.Context, l *child.Live, change request.Metadata, verb string) *problem.Problem {
	after, err := rec.Cluster.SetMetadata(ctx, running.LocateLive(l), change, rec.Manager)
	rec.Meter.Write(measure.Update, running.AnswerOf(err))
	switch {
	case answers.MissingObject(err):
		return nil
	case rec.Overtaken(ctx, err, running.LocateLive(l), l.Object.UID(), change.Version):
		return &problem.Problem{Reason: v1.ReasonFinalizing, Message: l.ID().String() + " has just changed", Waiting: true, Pending: true, Retry: problem.RetryNow}
	case err != nil:
		return rec.Rights.Refusal(err, verb+" "+l.ID().String(), l.Object.Namespace(), l.Kind)
	}
	rec.keep(after, l.Kind)
	klog.FromContext(ctx).V(2).Info("changed a child that outlives its parent", "change", verb, "controller", rec.Name, "parent", rec.key.Parent.String(), "child", l.ID().String())
	return nil
}
