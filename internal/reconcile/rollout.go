package reconcile

import (
	"cmp"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// availability returns the Availability of children, or nil if no child template has rolling updates. It uses one time for the whole
// reconciliation; objects that are not available yet are reconciled again.
func (c *convergence) availability() *readiness.Availability {
	if !c.templates.Roll() {
		return nil
	}
	if c.now.IsZero() {
		c.now = c.r.Clock.Now()
	}
	return &readiness.Availability{Settling: &c.r.settling, Judge: c.inputs.judge(c.observed), Now: c.now}
}

// count counts the desired children, and follows the rollouts in progress: if a rollout may continue and no watch reports that, it ensures that
// the parent is reconciled again.
func (c *convergence) count(all []*child.Wanted, judge *readiness.Judge) status.ChildSummary {
	out := status.SummarizeChildren(all, c.observed, judge)
	available := c.availability()
	if available == nil {
		return out
	}
	out.Rollouts = status.Rollouts(all, available.Of, judge)
	for _, r := range out.Rollouts {
		if r.Free() && c.plan.Deferred > 0 && c.guard.written.Children {
			c.next.Again = true // after writes of this reconciliation
		}
		for _, w := range r.Unavailable {
			if w.Live != nil && judge.Of(w.Entry.Name, w.Live.Object) == readiness.Ready { // otherwise the watch reports it
				c.next.After = min(cmp.Or(c.next.After, readiness.SettleTime), available.Settles(w.Live))
			}
		}
	}
	return out
}
