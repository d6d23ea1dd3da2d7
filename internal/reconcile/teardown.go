package reconcile

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
)

// teardown is the pass over a parent that is being deleted and has our finalizer: it goes when everything has happened that is to happen
// before. None of that needs what the spec says now of children: each carries what its end needs.
func (rec *reconciliation) teardown(ctx context.Context) Result {
	switch {
	case teardown.Skipped(rec.parent):
		klog.FromContext(ctx).Info("skipping the cleanup of a parent: its annotation templater.dev/skip-finalize is set", "controller", rec.Name, "parent", rec.key.Parent.String())
		return rec.release(ctx)
	case rec.childrenStay():
		if rec.orphan(ctx) {
			return rec.release(ctx)
		}
		return rec.unfinished(ctx)
	}
	if rec.finish(ctx) && rec.removeInOrder(ctx) {
		return rec.release(ctx)
	}
	over, again := rec.overtime(ctx)
	if over {
		rec.reportTimeout()
		rec.r.Events.Announce(rec.As, rec.key, request.Announcement{About: rec.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonFinalizeTimeout, Message: teardown.WithoutRest})
		return rec.release(ctx)
	}
	return rec.unfinished(ctx).also(Result{After: again})
}

// unfinished tells what the parent waits for.
func (rec *reconciliation) unfinished(ctx context.Context) Result {
	rec.reportTeardown(ctx, rec.observe())
	rec.measure()
	return rec.result()
}

// waits says what the parent waits for.
func (rec *reconciliation) waits(message string) {
	rec.problems = append(rec.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Message: message, Waiting: true})
}

// waitForChildren says why the children are not all known.
func (rec *reconciliation) waitForChildren() {
	reason, message := rec.ChildObstacle()
	if reason == v1.ReasonKindNotFound {
		message += "; if the kind does not come back, " + teardown.SkipAdvice
	}
	rec.waits("being deleted: waits until its children can be read: " + message)
	rec.problems[0].Retry = problem.RetrySlow
	rec.partial = true
}

// removeInOrder has the children go that are to go before their parent, those of the highest level first, and reports whether none is left.
func (rec *reconciliation) removeInOrder(ctx context.Context) bool {
	if !rec.Complete(rec.key.Parent.Namespace) {
		rec.waitForChildren()
		return false
	}
	first := teardown.First(rec.Spec, rec.observe())
	if len(first) == 0 {
		return true
	}
	rec.waits(child.Going(first))
	rec.problems[len(rec.problems)-1].Retry = problem.RetrySlow // an object that was made to name another parent tells nobody here of its end
	rec.removeAll(ctx, first, teardown.InOrder(rec.Spec))
	return false
}

// removeAll asks for the deletion of children for which nobody has asked. In the foreground, they are gone when nothing is left of them.
func (rec *reconciliation) removeAll(ctx context.Context, children []*child.Live, foreground bool) {
	if !rec.r.Controllers.MayPrune(ctx, rec.Controller) {
		rec.problems = append(rec.problems, rec.superseded())
		return
	}
	for _, l := range children {
		if l.Object.Deleting() {
			continue
		}
		if issue := rec.remove(ctx, plan.Action{Verb: plan.Delete, Live: l, Foreground: foreground}); issue != nil {
			rec.problems = append(rec.problems, issue)
		}
	}
}

// release has the parent go.
func (rec *reconciliation) release(ctx context.Context) Result {
	_, issue := rec.r.releaseParent(ctx, rec.Controller, rec.key, rec.parent)
	if issue == nil {
		rec.reportWrite(RemoveFinalizer)
		rec.r.Events.Forget(rec.key)
		rec.r.Attempts.End(rec.key)
		return Result{Outcome: measure.Succeeded}
	}
	rec.problems = append(rec.problems, issue)
	if !issue.Waiting {
		rec.reportTeardown(ctx, rec.observe())
	}
	return rec.result()
}

// reportTeardown writes the status of a parent that is being deleted. Where the status template fails, for it may miss children that are
// gone, or cannot be rendered, the rest of the status stays as it is.
func (rec *reconciliation) reportTeardown(ctx context.Context, observed []*child.Live) {
	now := rec.count(observed, rec.judge(observed))
	status := rec.ownStatus()
	if !rec.Rejected && !rec.SyncingRelated() && rec.choose() == nil {
		status, _ = rec.template(observed)
	}
	rec.tell(ctx, status, now)
}
