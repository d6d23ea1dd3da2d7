package reconcile

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// cleanup reconciles a parent that is being deleted and has templater's finalizer. It removes the finalizer once cleanup is done. Changes of
// children in the spec do not affect that: each child has the data that its deletion needs.
type cleanup struct {
	*reconciliation
	unrendered bool // whether the objects of spec.finalize.children could not be rendered
	incomplete bool // whether a part of the cleanup could not be attempted
}

func (c *cleanup) run(ctx context.Context) Result {
	switch {
	case plan.SkipsFinalize(c.parent):
		klog.FromContext(ctx).Info("skipping the cleanup of a parent: its annotation templater.dev/skip-finalize is set", "controller", c.Name, "parent", c.key.Parent.String())
		return c.release(ctx)
	case orphaning{c.reconciliation}.requested():
		if c.orphan(ctx) {
			return c.release(ctx)
		}
		return c.unfinished(ctx)
	}
	if c.finish(ctx) && c.deleteChildren(ctx) {
		return c.release(ctx)
	}
	over, again := timeout{c}.check(ctx)
	if over {
		c.report.EndsEarly()
		c.r.Recorder.Announce(c.As, c.key, request.Announcement{About: c.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonFinalizeTimeout, Message: FinalizeTimedOut})
		return c.release(ctx)
	}
	return c.unfinished(ctx).also(Result{After: again})
}

// release removes the finalizer.
func (c *cleanup) release(ctx context.Context) Result {
	_, issue := c.removeFinalizer(ctx)
	if issue == nil {
		c.wroteParent(status.RemoveFinalizer)
		c.r.Recorder.Forget(c.key)
		c.r.Attempts.End(c.key)
		return Result{Outcome: record.Succeeded}
	}
	c.problems = append(c.problems, issue)
	if !issue.Waiting {
		c.writeStatus(ctx)
	}
	return c.result()
}

// unfinished reports what the parent waits for.
func (c *cleanup) unfinished(ctx context.Context) Result {
	c.writeStatus(ctx)
	c.measure()
	return c.result()
}

// writeStatus writes the status of a parent that is being deleted. The status template may fail, because it may read deleted children. In this
// case, or if it cannot be rendered, the rest of the status is kept.
func (c *cleanup) writeStatus(ctx context.Context) {
	observed := c.observe()
	summary := status.SummarizeParent(c.Generation, observed, c.inputs.judge(observed))
	status := c.status.own()
	if !c.Rejected && !c.SyncingRelated() && c.inputs.selectRelated() == nil {
		status, _, _ = c.status.render(ctx, observed)
	}
	c.status.publish(ctx, status, summary)
}

// waits adds a problem with what the parent waits for.
func (c *cleanup) waits(message string, retry problem.Retry) {
	c.problems = append(c.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Message: message, Waiting: true, Retry: retry})
}

// knowsChildren reports whether all children are known. If not, it adds a problem with the reason.
func (c *cleanup) knowsChildren() bool {
	if c.deletions.current() {
		return true
	}
	c.incomplete = true
	if c.Complete(c.key.Parent.Namespace) { // they are known now, but earlier decisions may be wrong
		c.problems = append(c.problems, c.deletions.outdated())
		return false
	}
	reason, message := c.ChildObstacle()
	if reason == v1.ReasonKindNotFound {
		message += "; if the kind is not served again, " + status.SkipAdvice
	}
	c.waits("being deleted: waiting to list its children: "+message, problem.RetrySlow)
	return false
}

// orphan orphans the children, and reports whether that is complete. It annotates the parent first, for later reconciliations.
func (c *cleanup) orphan(ctx context.Context) bool {
	noted := c.noted(noteOrphan) || c.note(ctx, noteOrphan)
	return noted && c.knowsChildren() && orphaning{c.reconciliation}.run(ctx)
}

// deleteChildren deletes the children that are deleted before their parent, the highest level first, and reports whether none is left.
func (c *cleanup) deleteChildren(ctx context.Context) bool {
	if !c.knowsChildren() {
		return false
	}
	first := plan.DeletedFirst(c.Spec, c.observe())
	if len(first) == 0 {
		return true
	}
	c.waits(child.Going(first), problem.RetrySlow) // retry: a child edited to name another parent triggers no event here
	if issue := c.deletions.blocked(ctx); issue != nil {
		c.problems = append(c.problems, issue)
		return false
	}
	for _, l := range first {
		if l.Object.Deleting() {
			continue
		}
		// With foreground deletion, a child exists until its dependents are deleted.
		action := plan.Action{Verb: plan.Delete, Live: l, Foreground: plan.DeletesInOrder(c.Spec)}
		if _, issue := c.deletions.remove(ctx, action); issue != nil {
			c.problems = append(c.problems, issue)
		}
	}
	return false
}

// finish creates the objects of spec.finalize.children, and reports whether all of them are ready. It then annotates the parent, because the
// templates may read children that are deleted next.
func (c *cleanup) finish(ctx context.Context) bool {
	finals := spec.Finals(c.Spec)
	if len(finals) == 0 || c.noted(noteFinished) {
		return true
	}
	if c.Rejected {
		c.waits("being deleted: waiting for spec.finalize.children until "+v1.Describe(c.Name)+" is accepted: see its Accepted condition", problem.RetryOnChange)
		return false
	}
	made, early := c.converging(finals, c.FinalOrder), &Result{} // as for a parent that is not being deleted
	if !c.SyncingRelated() {
		early = made.run(ctx)
		c.unrendered = c.inputs.selectRelated() != nil
	}
	if early != nil {
		c.problems = append(c.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true, Retry: early.Retry})
		c.incomplete = true
		return false
	}
	if issue := c.guard.check(); issue != nil {
		c.problems = append(c.problems, issue)
	}
	if !c.finalsReady(&made) {
		return false
	}
	if !c.deletions.finished() {
		c.problems = append(c.problems, c.deletions.outdated())
		return false
	}
	return !c.hasChildrenToDelete() || c.note(ctx, noteFinished)
}

// finalsReady reports whether all objects of spec.finalize.children are ready, and adds problems if not. It does not wait for children that the
// API server rejects because their namespace is being deleted, nor for children that depend on them: otherwise, the namespace could not be
// deleted.
func (c *cleanup) finalsReady(made *convergence) bool {
	var impossible, others problem.List
	for _, issue := range c.problems {
		if issue.Reason == v1.ReasonNamespaceTerminating {
			impossible = append(impossible, issue)
		} else {
			others = append(others, issue)
		}
	}
	c.problems = others
	unblocked, waits := made.recheck()
	if len(impossible) == 0 {
		c.problems = append(c.problems, waits...)
		return c.countReady(made, made.desired.Wanted, finalState{unblocked: unblocked, current: made.plan.Pending == 0 && made.plan.Outdated == 0})
	}
	possible := possibleOf(made, impossible)
	outdated := slices.ContainsFunc(possible, func(w *child.Wanted) bool {
		return w.Live != nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(w.Live.Object)
	})
	if !c.countReady(made, possible, finalState{unblocked: unblocked, current: !outdated}) {
		return false
	}
	for _, issue := range impossible {
		c.r.Recorder.Announce(c.As, c.key, request.Announcement{About: c.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonNamespaceTerminating, Message: "cannot " + issue.Write + ": its namespace is being deleted; the finalizer is removed anyway"})
	}
	return true
}

// possibleOf returns the desired children that are not in a terminating namespace, and do not depend on others there.
func possibleOf(made *convergence, impossible problem.List) []*child.Wanted {
	ending := map[string]bool{}
	for _, issue := range impossible {
		ending[issue.Namespace] = true
	}
	return slices.DeleteFunc(slices.Clone(made.desired.Wanted), func(w *child.Wanted) bool {
		return ending[w.Name.Namespace] || made.dependencies.Blocks(w.Entry.Name)
	})
}

// finalState is the state of the objects of spec.finalize.children, in addition to their readiness.
type finalState struct {
	unblocked bool // whether a blocked child template may start now
	current   bool // whether all match their templates
}

// countReady reports whether these objects of spec.finalize.children are ready.
func (c *cleanup) countReady(made *convergence, wanted []*child.Wanted, s finalState) bool {
	judge := c.inputs.judge(made.observed)
	counted := made.count(wanted, judge)
	c.problems = append(c.problems, c.inputs.judgeFaults(judge)...)
	if s.unblocked && len(c.problems) == 0 { // the next reconciliation follows immediately
		c.problems = problem.List{{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true}}
		return false
	}
	ready, problems := status.AwaitFinals(counted, c.problems, s.current)
	c.problems = problems
	return ready
}

// FinalizeTimedOut is the message when a parent is released before its cleanup is complete.
const FinalizeTimedOut = "the cleanup took longer than spec.finalize.timeout: the finalizer was removed before the cleanup was done"
