package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// missingParent prunes or collects the children of a parent that is not in the cache: it was deleted, or no longer matches. A watch reports both
// in the same way.
type missingParent struct {
	*reconciliation
}

// reconcileMissing reconciles a parent that is not in the cache.
func (r *Reconciler) reconcileMissing(ctx context.Context, c *controller.Controller, key queue.Key) Result {
	if c.TeardownOnly {
		if c.ParentCache(key.Parent.Namespace) != nil { // otherwise it may still exist
			r.forget(c, key)
			r.endAbsence(key, "")
		}
		return Result{}
	}
	r.forget(c, key)
	m := missingParent{newReconciliation(r, c, key)}
	result := m.run(ctx)
	result.Outcome = outcomeOfMissing(result)
	return result
}

// outcomeOfMissing returns the outcome of the reconciliation of a missing parent, for metrics.
func outcomeOfMissing(result Result) record.Outcome {
	switch {
	case result.Retry == problem.RetryBackoff:
		return record.Failed
	case result.Retry != problem.RetryOnChange || result.After > 0:
		return record.Waiting
	}
	return record.Succeeded
}

// forget drops the data about a missing parent. If its kind is deleted, controllers forget all parents.
func (r *Reconciler) forget(c *controller.Controller, key queue.Key) {
	r.Controllers.Left(key)
	r.Recorder.Forget(key)
	r.Breaker.Forget(key)
	r.Attempts.End(key)
	r.Waiting.Forget(key)
	for _, e := range c.Related {
		e.Index.Forget(key.Parent)
	}
	r.Logs.Forget(key)
}

// endAbsence drops the data about a missing parent that is no longer missing, or never was. present is the UID of the current parent of that
// name, or "".
func (r *Reconciler) endAbsence(key queue.Key, present types.UID) {
	r.Absences.End(key)
	r.Pacer.End(key)
	r.Orphaning.End(key, present)
}

// run reads the parent from the API server, unless every object of its kind is a parent. In that case it was deleted, and the garbage collector
// deletes its children. A parent may have been replaced by one of the same name that does not match.
func (m missingParent) run(ctx context.Context) Result {
	m.deletions.begin()
	children, mayHold := m.LeftBehind(m.key), m.mayHoldFinalizer()
	if len(children) == 0 && !mayHold || m.OutdatedKey(m.key) {
		m.r.endAbsence(m.key, "")
		return Result{}
	}
	if !m.Current(m.key.Parent.Namespace) || len(children) > 0 && !m.deletions.current() {
		klog.FromContext(ctx).V(2).Info("keeping the children of a missing parent: a watch failed, so the cache may be out of date, will retry", "controller", m.Name, "parent", m.key.Parent.String(), "children", len(children))
		return Result{Retry: problem.RetrySlow}
	}
	if m.suspended() {
		return Result{} // an event reports when it is resumed
	}
	left, mayExist := m.r.Absences.Left(m.key), m.Selective()
	if left > 0 && !mayExist {
		return Result{After: left}
	}
	if mayExist { // before the request: one edit of a selector may release thousands of parents
		if wait := m.r.Pacer.Wait(m.key, m.Generation); wait > 0 {
			return Result{After: wait}
		}
	}
	parent, err := m.GetParent(ctx, m.key)
	switch {
	case err != nil:
		return Result{Retry: problem.RetryBackoff}
	case parent == nil && left > 0 && len(children) > 0:
		return Result{After: left}
	case parent == nil:
		return m.collect(ctx, children, "")
	}
	return m.replaced(ctx, parent, children, left)
}

// mayHoldFinalizer reports whether the parent may exist without matching, and have the finalizer. It removes a parent that does not exist from
// the filter.
func (m missingParent) mayHoldFinalizer() bool {
	excluded := m.Excluded(m.key.Parent)
	if excluded == nil {
		m.Filter.Forget(m.key.Parent)
	}
	return m.MayHold && m.Selective() && (excluded == nil || excluded.HasFinalizer(m.Finalizer))
}

// suspended reports whether the watch shows a suspended object of that name. The filter or the namespaceSelector excludes it.
func (m missingParent) suspended() bool {
	cache := m.ParentCache(m.key.Parent.Namespace)
	if cache == nil {
		return false
	}
	there := cache.Get(m.key.Parent)
	return there != nil && plan.IsSuspended(there)
}

// replaced prunes the children of a parent that exists without matching. It also collects the children of an earlier parent of that name, once
// the garbage collector has had enough time: left is the remaining time.
func (m missingParent) replaced(ctx context.Context, parent *object.Object, children []*child.Live, left time.Duration) Result {
	var own, leftovers []*child.Live
	for _, l := range children {
		if l.OfAnother(parent.UID()) {
			leftovers = append(leftovers, l)
		} else {
			own = append(own, l)
		}
	}
	m.parent, m.deletions.live = parent, true
	of := m.For(parent)
	if of == nil { // its revision does not run
		return Result{Retry: problem.RetrySlow}
	}
	m.Controller = of
	result := m.pruneUnmatched(ctx, own)
	switch {
	case result != Result{}:
		return result
	case len(leftovers) == 0:
		m.r.endAbsence(m.key, "")
		return Result{}
	case left > 0:
		return Result{After: left}
	}
	return m.collect(ctx, leftovers, "")
}

// collect deletes the children of a deleted parent if their seals prove that they were created for it. The garbage collector has missed them,
// which happens if a kind existed for a short time only. A child is kept if it only names that parent, but was created for one that exists.
// present is the UID of the current, matching parent of that name, or "".
func (m missingParent) collect(ctx context.Context, children []*child.Live, present types.UID) Result {
	for _, l := range children {
		if !l.Collectable() || l.Object.CrossScope() && m.HasParent(l.ParentUID()) {
			continue // it is retained, or has another owner or an existing parent
		}
		if !m.Factory.Proven(l, m.key.Parent) {
			klog.FromContext(ctx).Info("keeping the child of a missing parent: its seal is not valid for that parent", "controller", m.Name, "parent", m.key.Parent.String(), "child", l.ID().String())
			continue
		}
		if _, issue := m.deletions.remove(ctx, plan.Action{Verb: plan.Delete, Live: l, Unchanged: true}); issue != nil {
			klog.FromContext(ctx).Info("cannot delete the child of a missing parent, will retry", "controller", m.Name, "child", l.ID().String(), "reason", issue.Message)
			return Result{Retry: problem.RetryBackoff}
		}
	}
	m.r.endAbsence(m.key, present)
	return Result{}
}

// pruneUnmatched prunes or orphans these children of a parent that no longer matches, according to their prunePolicy, and removes the parent's
// finalizer.
func (m missingParent) pruneUnmatched(ctx context.Context, children []*child.Live) Result {
	if plan.IsSuspended(m.parent) {
		klog.FromContext(ctx).V(2).Info("keeping the children of a suspended parent that may no longer match, will retry", "controller", m.Name, "parent", m.key.Parent.String())
		return Result{Retry: problem.RetrySlower} // a watch of the parents that match does not report when it is resumed
	}
	matches, err := m.Matches(ctx, m.parent)
	switch {
	case err != nil:
		return Result{Retry: problem.RetryBackoff}
	case matches:
		klog.FromContext(ctx).V(2).Info("keeping the children of a parent that is not in the cache yet, will retry", "controller", m.Name, "parent", m.key.Parent.String())
		return Result{Retry: problem.RetrySoon}
	case len(children) > 0:
		if issue := m.deletions.blocked(ctx); issue != nil {
			return Result{Retry: issue.Retry}
		}
		pruned, issue := m.prune(ctx, children)
		if issue != nil {
			m.recordEvent(corev1.EventTypeWarning, issue.Reason, issue.Message)
			return Result{Retry: problem.RetryBackoff}
		}
		if pruned > 0 {
			message := fmt.Sprintf("%s no longer selects this object: its children were deleted", v1.Describe(m.Name))
			if pruned < len(children) {
				message += ", except those with prunePolicy: Orphan"
			}
			m.recordEvent(corev1.EventTypeNormal, v1.ReasonNoLongerMatches, message)
		}
	}
	if _, issue := m.removeFinalizer(ctx); issue != nil {
		klog.FromContext(ctx).Info("cannot remove the finalizer of a parent that no longer matches, will retry", "controller", m.Name, "parent", m.key.Parent.String(), "reason", issue.Message)
		return Result{Retry: max(problem.RetryBackoff, issue.Retry)}
	}
	return Result{}
}

// prune deletes or orphans these children, according to their prunePolicy. It returns how many it has tried to delete, and the first problem.
func (m missingParent) prune(ctx context.Context, children []*child.Live) (pruned int, issue *problem.Problem) {
	keep := orphaning(m)
	orphaned := keep.requested()
	if orphaned {
		m.r.Orphaning.Note(m.key, m.parent.UID()) // the garbage collector may finish before the next reconciliation
	}
	for _, l := range children {
		if m.parent.Deleting() && !l.Object.CrossScope() {
			continue // left to the garbage collector: only it knows whether a deletion with --cascade=orphan has begun
		}
		if !orphaned && child.Entries(m.Spec.Children).PrunesUnmatched(l, m.parent.UID()) {
			_, failed := m.deletions.remove(ctx, plan.Action{Verb: plan.Delete, Live: l})
			issue = cmp.Or(issue, failed)
			pruned++
		} else {
			issue = cmp.Or(issue, keep.retain(ctx, l))
		}
	}
	return pruned, issue
}

func (m missingParent) recordEvent(eventType, reason, message string) {
	m.r.Recorder.Announce(m.As, m.key, request.Announcement{About: m.parent, Type: eventType, Reason: reason, Message: message})
}

// collectLeftovers deletes children of an earlier parent of the same name, which was deleted, once the garbage collector has had enough time. It
// returns when to check them again.
func (rec *reconciliation) collectLeftovers(ctx context.Context, unlabeled []*child.Live) Result {
	leftovers := unlabeled
	for _, l := range rec.ChildrenNamed(rec.key.Parent) {
		if l.OfAnother(rec.parent.UID()) && !l.Object.Deleting() {
			leftovers = append(leftovers, l)
		}
	}
	if len(leftovers) == 0 {
		rec.r.endAbsence(rec.key, rec.parent.UID())
		return Result{}
	}
	if left := rec.r.Absences.Left(rec.key); left > 0 {
		return Result{After: left}
	}
	if !rec.deletions.current() {
		return Result{Retry: problem.RetrySlow}
	}
	m := missingParent{newReconciliation(rec.r, rec.Controller, rec.key)}
	m.deletions.since = rec.deletions.since // from before the leftovers were read
	// After a watch failure, the cache may still have an earlier parent, and the leftovers may belong to the current one.
	if now, _ := m.GetParent(ctx, m.key); now == nil || now.UID() != rec.parent.UID() {
		return Result{After: queue.CollectorTime}
	}
	return m.collect(ctx, leftovers, rec.parent.UID())
}
