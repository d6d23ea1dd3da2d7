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
func (p *pass) teardown(ctx context.Context) Result {
	switch {
	case teardown.Skipped(p.parent):
		klog.FromContext(ctx).Info("skipping the cleanup of a parent: its annotation templater.dev/skip-finalize is set", "controller", p.Name, "parent", p.key.Parent.String())
		return p.release(ctx)
	case p.childrenStay():
		if p.orphan(ctx) {
			return p.release(ctx)
		}
		return p.unfinished(ctx)
	}
	if p.finish(ctx) && p.removeInOrder(ctx) {
		return p.release(ctx)
	}
	over, again := p.overtime(ctx)
	if over {
		p.reportTimeout()
		p.r.events.Announce(p.As, p.key, request.Announcement{About: p.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonFinalizeTimeout, Message: teardown.WithoutRest})
		return p.release(ctx)
	}
	return p.unfinished(ctx).also(Result{After: again})
}

// unfinished tells what the parent waits for.
func (p *pass) unfinished(ctx context.Context) Result {
	p.reportTeardown(ctx, p.observe())
	p.measure()
	return p.result()
}

// waits says what the parent waits for.
func (p *pass) waits(message string) {
	p.problems = append(p.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Message: message, Waiting: true})
}

// waitForChildren says why the children are not all known.
func (p *pass) waitForChildren() {
	reason, message := p.ChildObstacle()
	if reason == v1.ReasonKindNotFound {
		message += "; if the kind does not come back, " + teardown.SkipAdvice
	}
	p.waits("being deleted: waits until its children can be read: " + message)
	p.problems[0].Retry = problem.RetrySlow
	p.partial = true
}

// removeInOrder has the children go that are to go before their parent, those of the highest level first, and reports whether none is left.
func (p *pass) removeInOrder(ctx context.Context) bool {
	if !p.Complete(p.key.Parent.Namespace) {
		p.waitForChildren()
		return false
	}
	first := teardown.First(p.Spec, p.observe())
	if len(first) == 0 {
		return true
	}
	p.waits(child.Going(first))
	p.problems[len(p.problems)-1].Retry = problem.RetrySlow // an object that was made to name another parent tells nobody here of its end
	p.removeAll(ctx, first, teardown.InOrder(p.Spec))
	return false
}

// removeAll asks for the deletion of children for which nobody has asked. In the foreground, they are gone when nothing is left of them.
func (p *pass) removeAll(ctx context.Context, children []*child.Live, foreground bool) {
	if !p.r.controllers.MayPrune(ctx, p.Controller) {
		p.problems = append(p.problems, p.superseded())
		return
	}
	for _, l := range children {
		if l.Object.Deleting() {
			continue
		}
		if issue := p.remove(ctx, plan.Action{Verb: plan.Delete, Live: l, Foreground: foreground}); issue != nil {
			p.problems = append(p.problems, issue)
		}
	}
}

// release has the parent go.
func (p *pass) release(ctx context.Context) Result {
	_, issue := p.r.releaseParent(ctx, p.Controller, p.key, p.parent)
	if issue == nil {
		p.reportWrite(RemoveFinalizer)
		p.r.events.Forget(p.key)
		p.r.attempts.End(p.key)
		return Result{Outcome: measure.Succeeded}
	}
	p.problems = append(p.problems, issue)
	if !issue.Waiting {
		p.reportTeardown(ctx, p.observe())
	}
	return p.result()
}

// reportTeardown writes the status of a parent that is being deleted. Where the status template fails, for it may miss children that are
// gone, or cannot be rendered, the rest of the status stays as it is.
func (p *pass) reportTeardown(ctx context.Context, observed []*child.Live) {
	now := p.count(observed, p.judge(observed))
	status := p.ownStatus()
	if !p.Rejected && !p.SyncingRelated() && p.choose() == nil {
		status, _ = p.template(observed)
	}
	p.tell(ctx, status, now)
}
