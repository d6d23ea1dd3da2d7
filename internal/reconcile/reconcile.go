// Package reconcile reconciles one parent, so that its children and its status are as its TemplateController says.
//
// A reconciliation reads caches, renders what is desired, plans the difference, applies the plan, and writes the parent's status:
//
//	inputs → desired → plan → apply → status
//
// One that finds no difference makes no request. The tests run whole reconciliations against an API server in memory: see cluster_test.go.
package reconcile

import (
	"cmp"
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Result says when to reconcile a parent again although nothing changed.
type Result struct {
	Retry problem.Retry
	// After is when to reconcile again at the latest, whatever Retry says; 0 means never.
	After time.Duration
	// Again is whether to reconcile again at once, whatever the rest says: the templates may yield something else
	// for what has been written.
	Again bool
	// Denial is the permission that is missing, if any.
	Denial problem.Denial
	// Outcome is how the reconciliation is counted.
	Outcome record.Outcome
}

// also adds when to reconcile again for another reason.
func (r Result) also(other Result) Result {
	r.Retry = max(r.Retry, other.Retry)
	r.After = min(cmp.Or(r.After, other.After), cmp.Or(other.After, r.After)) // 0 is never
	return r
}

// reconciliation is one reconciliation of one parent. The types of its stages embed it. A stage returns what it finds out; only problems
// and when to reconcile again add up here.
type reconciliation struct {
	*running.Controller
	r        *Reconciler
	key      queue.Key
	parent   *object.Object // as the latest write left it, except for its status; nil where there is none
	problems problem.List
	next     Result         // when to reconcile again if no problem says otherwise
	report   *status.Report // nil unless the caller passes one

	inputs    inputs
	guard     loopGuard
	deletions deletions
	status    statusWriter
}

func newReconciliation(r *Reconciler, c *running.Controller, key queue.Key) *reconciliation {
	rec := &reconciliation{Controller: c, r: r, key: key}
	rec.inputs.reconciliation = rec
	rec.guard.reconciliation = rec
	rec.deletions.reconciliation = rec
	rec.status.reconciliation = rec
	return rec
}

// Reconcile brings the children and the status of the parent named by key up
// to date. It acts on current state only, so extra calls are harmless. A
// user's mistake ends in the parent's status, and so does a refusal of the server.
func (r *Reconciler) Reconcile(ctx context.Context, key queue.Key) Result {
	return r.reconcile(ctx, key, nil)
}

func (r *Reconciler) reconcile(ctx context.Context, key queue.Key, report *status.Report) Result {
	if r.Backlog.Begin(key) {
		defer r.Backlog.Done(key)
	}
	worker := queue.WorkerOf(ctx)
	worker.Begin(key)
	defer worker.End()
	c, leave := r.Controllers.Enter(key.Controller)
	defer leave()
	if c != nil && c.Spec.Suspend {
		r.countSuspended(c, key)
	}
	if c == nil || !c.Runs() || !c.ParentsSynced(key.Parent.Namespace) || c.SyncingChildren(key.Parent.Namespace) {
		return Result{} // each of these queues the parent when it changes
	}
	rec := newReconciliation(r, c, key)
	rec.report, rec.inputs.pause = report, worker.Pauses()
	rec.deletions.begin() // before anything is read
	if rec.parent = c.Parent(key.Parent); rec.parent == nil {
		return r.reconcileMissing(ctx, c, key)
	}
	return rec.reconcile(ctx)
}

// countSuspended counts a parent of a suspended TemplateController, which is not reconciled. It makes no request.
func (r *Reconciler) countSuspended(c *running.Controller, key queue.Key) {
	if c.Unknown || !c.ParentsSynced(key.Parent.Namespace) {
		return
	}
	if c.Parent(key.Parent) == nil {
		r.Controllers.Left(key)
		return
	}
	r.Controllers.Count(key, status.ParentSummary{Suspended: true, Unobserved: true})
}

// reconcile reconciles a parent that exists.
func (rec *reconciliation) reconcile(ctx context.Context) Result {
	deleting := rec.parent.Deleting()
	switch {
	case deleting && !rec.parent.HasFinalizer(rec.Finalizer):
		rec.r.Controllers.Count(rec.key, status.ParentSummary{Generation: rec.Generation, Unobserved: true})
		return Result{} // the garbage collector deletes the children
	case rec.TeardownOnly && !deleting && !rec.ReportsRejection:
		return Result{}
	}
	rec.inputs.memory.Open(ctx, rec.r.Memory, rec.key.Controller)
	defer rec.inputs.memory.Close()
	defer rec.fillReport()
	rec.inputs.budget.Begin(&rec.inputs.memory)
	if rec.TeardownOnly && !deleting {
		rec.status.reportRejection(ctx)
		return rec.result()
	}
	if wait := rec.guard.begin(); wait > 0 {
		return Result{After: wait}
	}
	if deleting {
		c := cleanup{reconciliation: rec}
		return c.run(ctx)
	}
	if rec.SyncingRelated() {
		return Result{} // the end of the first list queues the parent
	}
	return rec.reconcileChildren(ctx)
}

// reconcileChildren reconciles a parent that is not being deleted, with its children.
func (rec *reconciliation) reconcileChildren(ctx context.Context) Result {
	c := rec.converging(rec.Spec.Children, rec.Order)
	var result Result
	if early := c.run(ctx); early != nil {
		result = *early
	} else {
		rec.conclude(ctx, &c)
		result = rec.result()
	}
	result = result.also(rec.collectLeftovers(ctx, c.unlabelled))
	if !rec.deletions.relatedCurrent() && rec.Readable(rec.key.Parent.Namespace) {
		result = result.also(Result{Retry: problem.RetrySoon}) // a deletion may have been left for later
	}
	if c.staleSpec || !running.Readable(rec.Controllers) {
		result = result.also(Result{Retry: problem.RetrySlow}) // something may be left to prune, and no event will show when
	}
	return result
}

// conclude writes the status after a convergence, unless the next reconciliation will write another one at once.
func (rec *reconciliation) conclude(ctx context.Context, c *convergence) {
	if issue := rec.guard.check(); issue != nil {
		rec.problems = append(rec.problems, issue)
	}
	unblocked, waits := c.recheck()
	final := !unblocked || len(rec.problems) > 0
	rec.problems = append(rec.problems, waits...)
	if final && rec.status.write(ctx, c) {
		rec.inputs.endLogs()
	}
	rec.measure()
	if log := klog.FromContext(ctx).V(4); log.Enabled() {
		log.Info("reconciled parent", "controller", rec.Name, "parent", rec.key.Parent.String(), "resourceVersion", rec.parent.ResourceVersion(), "wroteChildren", rec.guard.written.Children, "wroteStatus", rec.guard.written.Status)
	}
}

// measure counts what the reconciliation did, and detects endless writing.
func (rec *reconciliation) measure() {
	if rec.guard.end() {
		rec.Meter.Tripped()
	}
	if rec.problems.TemplateFailed() {
		rec.Meter.TemplateError()
	}
}

// observe returns the children as they are now, own writes included.
func (rec *reconciliation) observe() []*child.Live { return rec.ChildrenOf(rec.parent) }

// keep puts a child into the cache as a write has left it.
func (rec *reconciliation) keep(after *object.Object, kind kind.Kind) {
	rec.Keep(after, kind)
	if rec.Factory.Adopting {
		rec.r.SyncSoon(rec.Name) // it may have been the last one
	}
}

// overtaken reports whether the parent could not be written because it has changed since it was read.
func (rec *reconciliation) overtaken(ctx context.Context, err error) bool {
	// A write that conflicts with an edit is nothing unusual, so the first conflicts in a row are taken for that without reading the parent.
	const conflictsBeforeRead = 3
	if rec.r.Failures.NumRequeues(rec.key) < conflictsBeforeRead {
		return running.Stale(err)
	}
	return rec.Overtaken(ctx, err, rec.LocateParent(rec.key), rec.parent.UID(), rec.parent.ResourceVersion())
}

// failed reports whether an error keeps templater from doing its work.
func (rec *reconciliation) failed() bool {
	issue := rec.problems.First()
	return issue != nil && !issue.Waiting
}

// result says when to reconcile again, after what was done and found.
func (rec *reconciliation) result() Result {
	result := Result{
		Retry: rec.problems.Retry(), Denial: rec.problems.Denial(), Outcome: record.OutcomeOf(rec.problems),
		Again: rec.next.Again || rec.readsOwnWrites() || rec.mayRelease(),
	}
	if result.Retry == problem.RetryOnChange {
		result.Retry = rec.next.Retry
	}
	if result.Retry == problem.RetryOnChange {
		result.After = queue.Jitter(rec.Resync)
		result = result.also(Result{After: rec.next.After})
		if rec.failed() {
			result = result.also(Result{After: record.RepeatAfter})
		}
	}
	return result
}

// readsOwnWrites reports whether children were written that templates read and were rendered without. No watch reports own writes. The
// status template has read the children as they were written.
func (rec *reconciliation) readsOwnWrites() bool {
	reads := rec.Program.Reads()
	return rec.guard.written.Children && reads.Children
}
