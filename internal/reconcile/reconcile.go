// Package reconcile reconciles one parent: it brings its children and status to the state that the TemplateController defines.
//
// A reconciliation reads caches, renders the desired children, plans the changes, applies the plan, and writes the parent's status:
//
//	inputs → desired → plan → apply → status
//
// If nothing differs, no request is sent. The tests run whole reconciliations against an in-memory API server: see cluster_test.go.
package reconcile

import (
	"cmp"
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Result determines when to requeue a parent.
type Result struct {
	Retry problem.Retry
	// After is the maximum delay until the next reconciliation, regardless of Retry; 0 means no limit.
	After time.Duration
	// Again is true if the parent must be reconciled again immediately, for example because the templates may render a different result after
	// the writes.
	Again bool
	// Denial is the missing permission, if any.
	Denial problem.Denial
	// Outcome is the outcome for metrics.
	Outcome record.Outcome
}

// also combines the result with another reason to reconcile again.
func (r Result) also(other Result) Result {
	r.Retry = max(r.Retry, other.Retry)
	r.After = min(cmp.Or(r.After, other.After), cmp.Or(other.After, r.After)) // 0 means never
	return r
}

// reconciliation is one reconciliation of one parent. The types of its stages embed it. A stage returns its results; only problems and the next
// reconciliation are collected here.
type reconciliation struct {
	*controller.Controller
	r        *Reconciler
	key      queue.Key
	parent   *object.Object // as of the latest write, except for its status; nil if it does not exist
	problems problem.List
	next     Result         // when to reconcile again if the problems do not require it
	report   *status.Report // nil unless the caller passes one

	inputs    inputs
	moments   moments
	guard     loopGuard
	deletions deletions
	status    statusWriter
}

func newReconciliation(r *Reconciler, c *controller.Controller, key queue.Key) *reconciliation {
	rec := &reconciliation{Controller: c, r: r, key: key}
	rec.inputs.reconciliation = rec
	rec.moments.reconciliation = rec
	rec.guard.reconciliation = rec
	rec.deletions.reconciliation = rec
	rec.status.reconciliation = rec
	return rec
}

// Reconcile brings the children and the status of the parent named by key up to date. It is idempotent. Template errors and rejected requests
// are reported in the parent's status.
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
	if c == nil || !c.Runs() || !c.ParentsSynced(key.Parent.Namespace) || c.SyncingChildren(key.Parent.Namespace, false) {
		return Result{} // each of these enqueues the parent when it changes
	}
	rec := newReconciliation(r, c, key)
	rec.report, rec.inputs.pause = report, worker.Pauses()
	rec.deletions.begin() // before anything is read
	if rec.parent = c.Parent(key.Parent); rec.parent == nil {
		return r.reconcileMissing(ctx, c, key)
	}
	if rec.Controller = c.For(rec.parent); rec.Controller == nil { // enqueued when it gets a revision
		r.Controllers.Count(key, status.ParentSummary{Generation: c.Generation, Outdated: true, Unobserved: true})
		return Result{}
	}
	return rec.reconcile(ctx)
}

// countSuspended counts a parent of a suspended TemplateController, which is not reconciled. It sends no requests.
func (r *Reconciler) countSuspended(c *controller.Controller, key queue.Key) {
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
		rec.r.Controllers.Count(rec.key, status.ParentSummary{Generation: rec.Generation, Suspended: plan.IsSuspended(rec.parent), Unobserved: true})
		return Result{} // the garbage collector deletes the children
	case rec.TeardownOnly && !deleting && !rec.ReportsRejection:
		return Result{}
	}
	rec.inputs.memory.Open(ctx, rec.r.Memory, rec.key.Controller)
	defer rec.inputs.memory.Close()
	defer rec.fillReport()
	rec.inputs.budget.Begin(&rec.inputs.memory)
	if plan.IsSuspended(rec.parent) {
		return rec.suspend(ctx)
	}
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
		return Result{} // the parent is enqueued when the initial list is complete
	}
	return rec.reconcileChildren(ctx)
}

// suspend reports that the parent is suspended, and drops what would cause requests or continue a timeout. Nothing else is done: an event
// reports when the parent is resumed. A deletion with --cascade=orphan is noted, because nothing else may show it by then.
func (rec *reconciliation) suspend(ctx context.Context) Result {
	rec.r.Attempts.End(rec.key)
	rec.r.Logs.Forget(rec.key)
	if rec.parent.Deleting() && (orphaning{rec}).requested() && !rec.noted(noteOrphan) {
		rec.note(ctx, noteOrphan)
	}
	rec.status.reportSuspension(ctx)
	if rec.problems.Retry() != problem.RetryOnChange { // something could not be written
		return rec.result()
	}
	rec.r.Waiting.Forget(rec.key)
	return Result{Outcome: record.Skipped}
}

// reconcileChildren reconciles a parent that is not being deleted, and its children.
func (rec *reconciliation) reconcileChildren(ctx context.Context) Result {
	c := rec.converging(rec.Spec.Children, rec.Order)
	var result Result
	if early := c.run(ctx); early != nil {
		result = *early
	} else {
		rec.conclude(ctx, &c)
		result = rec.result()
	}
	result = result.also(rec.collectLeftovers(ctx, c.unlabeled))
	if !rec.deletions.relatedCurrent() && rec.Readable(rec.key.Parent.Namespace) {
		result = result.also(Result{Retry: problem.RetrySoon}) // a deletion may have been postponed
	}
	if c.staleSpec || !controller.Readable(rec.Controllers) {
		result = result.also(Result{Retry: problem.RetrySlow}) // some children may have to be pruned, and no event will report when
	}
	return result
}

// conclude writes the status after a convergence, unless the next reconciliation will immediately write another one.
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

// measure records metrics of the reconciliation, and detects endless writing.
func (rec *reconciliation) measure() {
	if rec.guard.end() {
		rec.Meter.Tripped()
	}
	if rec.problems.TemplateFailed() {
		rec.Meter.TemplateError()
	}
}

// observe returns the current children, including writes of this reconciliation.
func (rec *reconciliation) observe() []*child.Live { return rec.ChildrenOf(rec.parent) }

// keep stores the response of a write in the child cache.
func (rec *reconciliation) keep(after *object.Object, kind kind.Kind) {
	rec.Keep(after, kind)
	if rec.Factory.Adopting {
		rec.r.SyncSoon(rec.Name) // it may have been the last child without a seal
	}
}

// overtaken reports whether the parent could not be written because it has changed since it was read.
func (rec *reconciliation) overtaken(ctx context.Context, err error) bool {
	// Conflicts with edits are normal, so the first consecutive conflicts are assumed to be that, without reading the parent.
	const conflictsBeforeRead = 3
	if rec.r.Failures.NumRequeues(rec.key) < conflictsBeforeRead {
		return controller.Stale(err)
	}
	return rec.Overtaken(ctx, err, rec.LocateParent(rec.key), rec.parent.UID(), rec.parent.ResourceVersion())
}

// failed reports whether an error prevents templater from doing its work.
func (rec *reconciliation) failed() bool {
	issue := rec.problems.First()
	return issue != nil && !issue.Waiting
}

// result returns when to reconcile again.
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
	return result.also(Result{After: rec.moments.wait})
}

// readsOwnWrites reports whether the templates read children, and were rendered before children were written. Watches do not report writes of
// this process. The status template has already read the written children.
func (rec *reconciliation) readsOwnWrites() bool {
	reads := rec.Program.Reads()
	return rec.guard.written.Children && reads.Children
}
