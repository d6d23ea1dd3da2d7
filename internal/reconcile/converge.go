package reconcile

import (
	"context"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
)

// convergence brings the children of some child templates in line with these, and is what came of that.
type convergence struct {
	*reconciliation
	templates    child.Entries
	order        *spec.Order   // of the templates; nil = none waits for another
	observed     []*child.Live // as they are after the writes
	desired      child.Desired
	dependencies *plan.Dependencies // before the writes
	plan         plan.Plan
	complete     bool          // whether everything is known that decides what is deleted
	staleSpec    bool          // whether the watch of TemplateControllers failed before the plan was made
	unlabelled   []*child.Live // children of an earlier parent of that name that no watch shows, since they lost their label
	now          time.Time     // see availability
}

// converging returns a convergence of these child templates, which has not run yet.
func (rec *reconciliation) converging(templates child.Entries, order *spec.Order) convergence {
	return convergence{reconciliation: rec, templates: templates, order: order}
}

// run renders the child templates, plans the difference, and applies the plan. If the reconciliation has to end before that, it
// returns how.
func (c *convergence) run(ctx context.Context) (early *Result) {
	c.observed = c.observe()
	writable := c.desire()
	if ctx.Err() != nil { // not everything was rendered
		return &Result{Retry: problem.RetryBackoff, Outcome: record.Waiting}
	}
	c.dependencies = c.currentDependencies()
	c.inputs.settle(c.desired.Largest)
	if len(c.desired.Unknown) > 0 {
		c.r.Controllers.AddKinds(c.Name, c.desired.Unknown)
		return &Result{Outcome: record.Waiting} // queued again when the new kinds can be read
	}
	c.r.Controllers.Miss(c.Name, c.desired.Missing)
	c.problems = append(c.problems, c.dependencies.Reported(c.desired.Faults)...)
	writable = c.readable(writable)
	c.guard.written.Before, c.guard.written.Rolling = child.Fingerprint(c.observed), plan.Rolling(writable)
	c.makePlan(ctx, writable)
	c.apply(ctx)
	c.status.plan = c.plan
	return nil
}

// desire renders what is desired, and returns what may be written of it.
func (c *convergence) desire() (writable []*child.Wanted) {
	if why := c.inputs.selectRelated(); why != nil { // it is not known what the templates read
		c.desired = c.Factory.Unrendered(c.parent, c.templates)
		c.desired.Faults = []child.Fault{{Problem: why, Always: true}}
	} else {
		c.desired, writable = c.Factory.Desire(c.parent, c.templates, c.observed, func() *render.Input { return c.inputs.forTemplates(c.observed) })
	}
	if c.report != nil {
		c.report.Desired = c.desired
	}
	return writable
}

// readable leaves out children of kinds that must not be listed, or are not recorded: it is not known which of them exist.
func (c *convergence) readable(all []*child.Wanted) []*child.Wanted {
	out := make([]*child.Wanted, 0, len(all))
	for _, w := range all {
		if issue := c.Unreadable(w.Kind.GroupKind(), w.Name.Namespace); issue != nil {
			c.problems = append(c.problems, issue)
		} else {
			out = append(out, w)
		}
	}
	return out
}

// currentDependencies returns which templates wait for others, by what is desired and what there is.
func (c *convergence) currentDependencies() *plan.Dependencies {
	if c.order == nil {
		return nil
	}
	return plan.NewDependencies(c.order, &c.desired, c.inputs.judge(c.observed))
}

// planned returns the children that the plan is about: while the parent is being deleted, children of other templates are kept.
func (c *convergence) planned() []*child.Live {
	if !c.parent.Deleting() {
		return c.observed
	}
	return plan.Finals(c.Spec, c.observed)
}

// makePlan plans the writes. It plans no deletion by data or a spec that may be outdated.
func (c *convergence) makePlan(ctx context.Context, wanted []*child.Wanted) {
	c.staleSpec = !running.Readable(c.Controllers)
	current := c.deletions.relatedCurrent()
	c.deletions.postponed = c.deletions.postponed || !current
	c.complete = len(c.problems) == 0 && current
	in := plan.Input{Entries: c.templates, Wanted: wanted, Live: c.planned(), Maker: c.desired.Maker, Complete: c.complete, Dependencies: c.dependencies}
	if available := c.availability(); available != nil {
		in.Available = available.Of
	}
	c.plan = plan.Make(in)
	if len(c.plan.Remove) == 0 {
		return
	}
	issue := c.deletions.blocked(ctx)
	if issue == nil {
		return
	}
	c.problems = append(c.problems, issue)
	in.Complete = false
	c.plan = plan.Make(in)
}

// apply carries out the plan. Nothing is written without the finalizer that the parent needs; one that it does not need is removed after
// the writes.
func (c *convergence) apply(ctx context.Context) {
	if issue := c.holdFinalizer(ctx); issue != nil {
		c.problems = append(c.problems, issue)
	} else {
		a := applier{convergence: c, events: &childEvents{}}
		a.run(ctx)
		if issue := c.dropFinalizer(ctx); issue != nil {
			c.problems = append(c.problems, issue)
		}
	}
	if c.guard.written.Children {
		c.observed, c.inputs.judged = c.observe(), nil
		c.desired.Pair(c.observed)
	}
	c.guard.written.After = child.Fingerprint(c.observed)
}

// recheck checks the blocked templates again after the writes. It reports whether one is no longer blocked because of these writes, and what
// the others wait for. No watch reports own writes, so the parent is reconciled again at once then.
func (c *convergence) recheck() (unblocked bool, waits problem.List) {
	now := c.dependencies
	if c.guard.written.Children {
		now = c.currentDependencies()
	}
	if unblocked = c.dependencies.Unblocks(now); unblocked {
		c.next.Again = true
	}
	return unblocked, now.Waits(c.plan.Held)
}
