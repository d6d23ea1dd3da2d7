package reconcile

import (
	"context"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
)

// convergence brings the children of some child templates to the desired state, and has the results.
type convergence struct {
	*reconciliation
	templates    child.Entries
	order        *spec.Order   // of the child templates; nil = no dependencies
	observed     []*child.Live // after the writes
	desired      child.Desired
	dependencies *plan.Dependencies // before the writes
	plan         plan.Plan
	complete     bool          // whether all data that determines deletions is known
	staleSpec    bool          // whether the watch of TemplateControllers had failed before the plan was made
	unlabeled    []*child.Live // children of an earlier parent of that name that no watch shows, because they have lost their label
	now          time.Time     // see availability
}

// converging returns a new convergence for these child templates.
func (rec *reconciliation) converging(templates child.Entries, order *spec.Order) convergence {
	return convergence{reconciliation: rec, templates: templates, order: order}
}

// run renders the child templates, plans the changes, and executes the plan. If the reconciliation has to end earlier, it returns the result.
func (c *convergence) run(ctx context.Context) (early *Result) {
	c.observed = c.observe()
	writable := c.desire()
	if c.moments.confirm(ctx) {
		c.inputs.budget.Begin(&c.inputs.memory)
		c.observed = c.observe()
		writable = c.desire()
	}
	if ctx.Err() != nil { // rendering may be incomplete
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

// desire renders the desired children, and returns those that may be written.
func (c *convergence) desire() (writable []*child.Wanted) {
	if why := c.inputs.selectRelated(); why != nil { // the input of the templates is unknown
		c.desired = c.Factory.Unrendered(c.parent, c.templates)
		c.desired.Faults = []child.Fault{{Problem: why, Always: true}}
	} else {
		c.desired, writable = c.Factory.Desire(c.parent, c.templates, c.observed, func() *render.Input { return c.inputs.forTemplates(c.observed) })
	}
	if c.report != nil {
		c.report.Templates, c.report.Order, c.report.Desired = c.templates, c.order, c.desired
	}
	return writable
}

// readable omits children of kinds that cannot be listed, or are not recorded, because it is unknown which of them exist.
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

// currentDependencies returns the blocked child templates, based on the desired and the observed children.
func (c *convergence) currentDependencies() *plan.Dependencies {
	if c.order == nil {
		return nil
	}
	return plan.NewDependencies(c.order, &c.desired, c.inputs.judge(c.observed))
}

// planned returns the children to plan for. While the parent is being deleted, children of other templates are kept.
func (c *convergence) planned() []*child.Live {
	if !c.parent.Deleting() {
		return c.observed
	}
	return plan.Finals(c.Spec, c.observed)
}

// makePlan plans the writes. It plans no deletions if the data or the spec may be outdated.
func (c *convergence) makePlan(ctx context.Context, wanted []*child.Wanted) {
	c.staleSpec = !controller.Readable(c.Controllers)
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

// apply executes the plan. If the parent needs a finalizer and does not have it, nothing is written. A finalizer that it does not need is
// removed after the writes.
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

// recheck checks the blocked child templates again after the writes. It reports whether one is no longer blocked because of these writes, and
// what the others wait for. Watches do not report writes of this process, so in this case the parent is reconciled again immediately.
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
