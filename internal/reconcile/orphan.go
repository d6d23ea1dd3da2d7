package reconcile

import (
	"context"

	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// note is information about the cleanup of a parent that is being deleted, for later reconciliations and other replicas. It is stored in an
// annotation with the finalizer's name. It includes the parent's UID, because the annotation may be copied to another object.
type note string

const (
	noteFinished note = "children-finished" // the objects of spec.finalize.children have become ready
	noteOrphan   note = "children-stay"     // the parent was deleted with --cascade=orphan
)

// noted reports whether the parent has the note.
func (rec *reconciliation) noted(n note) bool {
	return rec.parent.Annotation(rec.Finalizer) == n.of(rec)
}

// note sets the note of the parent, and reports whether that succeeded.
func (rec *reconciliation) note(ctx context.Context, n note) bool {
	return rec.annotate(ctx, rec.Finalizer, n.of(rec))
}

func (n note) of(rec *reconciliation) string { return string(n) + "/" + string(rec.parent.UID()) }

// orphaning keeps the children of a parent that is deleted with --cascade=orphan.
type orphaning struct{ *reconciliation }

// requested reports whether the parent is, or was, deleted with --cascade=orphan.
func (o orphaning) requested() bool {
	return plan.CascadesOrphan(o.parent) || o.noted(noteOrphan) || o.r.Orphaning.Has(o.key, o.parent.UID())
}

// run orphans all children, and reports whether that is complete.
func (o orphaning) run(ctx context.Context) bool {
	for _, l := range o.observe() {
		if issue := o.retain(ctx, l); issue != nil {
			o.problems = append(o.problems, issue)
		}
	}
	o.unbind(ctx)
	return len(o.problems) == 0
}

// unbind ensures that no owner reference to the parent is left. The garbage collector removes them, but a concurrent write may restore one, and
// the garbage collector would then delete that child after the parent.
func (o orphaning) unbind(ctx context.Context) {
	for _, l := range o.observe() {
		if _, bound := l.Object.Owner(o.parent.UID()); !bound || l.Object.Deleting() {
			continue
		}
		if plan.CascadesOrphan(o.parent) { // the parent changes when the garbage collector is done
			o.problems = append(o.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true})
			return
		}
		if issue := o.setMetadata(ctx, l, l.RemoveOwnerReference(o.parent.UID()), "release"); issue != nil {
			o.problems = append(o.problems, issue)
			return
		}
	}
}

// retain marks a child without an owner reference as orphaned, so that it is not collected after the parent was deleted.
func (o orphaning) retain(ctx context.Context, l *child.Live) *problem.Problem {
	if !l.Object.CrossScope() || l.Outlives() {
		return nil
	}
	return o.setMetadata(ctx, l, o.Factory.Maker(o.parent).Retain(l), "mark")
}

// setMetadata updates the metadata of a child that is kept when its parent is deleted. verb describes in messages what that does to the child.
func (o orphaning) setMetadata(ctx context.Context, l *child.Live, change request.Metadata, verb string) *problem.Problem {
	after, err := o.Cluster.SetMetadata(ctx, controller.LocateLive(l), change, o.Manager)
	o.Meter.Write(record.Update, controller.AnswerOf(err))
	switch {
	case request.MissingObject(err):
		return nil
	case o.Overtaken(ctx, err, controller.LocateLive(l), l.Object.UID(), change.Version):
		return &problem.Problem{Reason: v1.ReasonFinalizing, Message: l.ID().String() + " was just changed", Waiting: true, Pending: true, Retry: problem.RetryNow}
	case err != nil:
		return o.Rights.Refusal(err, verb+" "+l.ID().String(), l.Object.Namespace(), l.Kind)
	}
	o.keep(after, l.Kind)
	klog.FromContext(ctx).V(2).Info("updated an orphaned child", "change", verb, "controller", o.Name, "parent", o.key.Parent.String(), "child", l.ID().String())
	return nil
}
