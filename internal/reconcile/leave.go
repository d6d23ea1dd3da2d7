package reconcile

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// handleAbsence sees to the children of a parent that is not there, or does not match any
// more; a watch shows both alike. Where all objects of the kind are parents
// it must be gone, and its children are the garbage collector's; otherwise
// the server is asked. It may have been replaced by one of its name that does not match.
func (r *Reconciler) handleAbsence(ctx context.Context, c *running.Controller, key queue.Key) Result {
	r.forget(c, key)
	children := c.LeftBehind(key)
	excluded := c.Excluded(key.Parent)
	if excluded == nil {
		c.Filter.Forget(key.Parent)
	}
	mayHold := c.MayHold && c.Selective() && (excluded == nil || excluded.HasFinalizer(c.Finalizer))
	if len(children) == 0 && !mayHold || c.OutdatedKey(key) {
		r.endDeparture(key, "")
		return Result{}
	}
	if !c.Current(key.Parent.Namespace) {
		return Result{Retry: problem.RetrySlow}
	}
	left, mayExist := r.Absences.Left(key), c.Selective()
	if left > 0 && !mayExist {
		return Result{After: left}
	}
	if mayExist { // before the server is asked: with one edit of a selector thousands may leave
		if wait := r.Pacer.Wait(key, c.Generation); wait > 0 {
			return Result{After: wait}
		}
	}
	parent, err := r.askForParent(ctx, c, key)
	switch {
	case err != nil:
		return Result{Retry: problem.RetryBackoff}
	case parent == nil && left > 0 && len(children) > 0:
		return Result{After: left}
	case parent == nil:
		return r.collect(ctx, c, key, leftBehind{children: children})
	}
	own, leftovers := divide(children, parent.UID())
	result := r.pruneUnmatched(ctx, c, key, unmatched{parent, own})
	switch {
	case result != Result{}:
		return result
	case len(leftovers) == 0:
		r.endDeparture(key, "")
		return Result{}
	case left > 0:
		return Result{After: left}
	}
	return r.collect(ctx, c, key, leftBehind{children: leftovers})
}

// forget forgets what is remembered of a parent that is not there. Where its kind goes, controllers forget all of them.
func (r *Reconciler) forget(c *running.Controller, key queue.Key) {
	r.Controllers.Left(key)
	r.Events.Forget(key)
	r.Breaker.Forget(key)
	r.Attempts.End(key)
	r.Waiting.Forget(key)
	for _, e := range c.Related {
		e.Index.Forget(key.Parent)
	}
	r.Logs.Forget(key)
}

// endDeparture forgets about a departure that is over, or was none. There is the parent that is there, "" if none is.
func (r *Reconciler) endDeparture(key queue.Key, there types.UID) {
	r.Absences.End(key)
	r.Pacer.End(key)
	r.Orphaning.End(key, there)
}

// divide takes those children apart that belong to an earlier parent of that name.
func divide(children []*child.Live, parent types.UID) (own, leftovers []*child.Live) {
	for _, l := range children {
		if l.OfAnother(parent) {
			leftovers = append(leftovers, l)
		} else {
			own = append(own, l)
		}
	}
	return own, leftovers
}

// askForParent reads the parent from the server; nil means that it is gone. It logs why it cannot. That the kind is not served says
// nothing about the parent.
func (r *Reconciler) askForParent(ctx context.Context, c *running.Controller, key queue.Key) (*object.Object, error) {
	parent, err := c.Cluster.Get(ctx, c.LocateParent(key))
	if answers.MissingObject(err) {
		return nil, nil
	}
	if err != nil {
		klog.FromContext(ctx).Info("cannot ask for a parent whose children are left, will retry", "controller", key.Controller, "parent", key.Parent.String(), "reason", c.Rights.WhyNot(err, c.Rights.Claim(rights.Parents, c.Kind, key.Parent.Namespace)))
		return nil, err
	}
	return parent, nil
}

// leftBehind are children of a parent that is gone.
type leftBehind struct {
	children []*child.Live
	there    types.UID // of the parent of that name that exists now and matches; "" = none
}

// collect deletes the children of a parent that is gone, as far as their seals prove that they were made for it. The garbage collector
// has left them: it loses sight of those of a kind that was there for a short time only. A child that only says that it is of that
// parent, and was made for one that is there, is no leftover.
func (r *Reconciler) collect(ctx context.Context, c *running.Controller, key queue.Key, left leftBehind) Result {
	rec := &reconciliation{Controller: c, r: r, key: key}
	rec.gather(false)
	for _, l := range left.children {
		if !l.Collectable() || l.Object.CrossScope() && c.HasParent(l.ParentUID()) {
			continue // another owner may still need it
		}
		if !c.Factory.Proven(l, key.Parent) {
			klog.FromContext(ctx).Info("keeping the child of a missing parent: its seal does not prove that it was made for that parent", "controller", c.Name, "parent", key.Parent.String(), "child", l.ID().String())
			continue
		}
		if issue := rec.remove(ctx, plan.Action{Verb: plan.Delete, Live: l}); issue != nil {
			klog.FromContext(ctx).Info("cannot delete the child of a parent that is gone, will retry", "controller", c.Name, "child", l.ID().String(), "reason", issue.Message)
			return Result{Retry: problem.RetryBackoff}
		}
	}
	r.endDeparture(key, left.there)
	return Result{}
}

// unmatched is a parent that exists but matches no longer, and its children.
type unmatched struct {
	parent   *object.Object
	children []*child.Live
}

// pruneUnmatched removes the children of a parent that no longer matches, as their prunePolicy says. Those that stay go with nobody.
func (r *Reconciler) pruneUnmatched(ctx context.Context, c *running.Controller, key queue.Key, d unmatched) Result {
	rec := &reconciliation{Controller: c, r: r, key: key, parent: d.parent}
	rec.gather(false)
	matches, err := r.matches(ctx, c, key, d.parent)
	if err != nil {
		return Result{Retry: problem.RetryBackoff}
	}
	if matches {
		return Result{Retry: problem.RetrySoon} // the watch is about to bring it
	}
	if len(d.children) == 0 {
		return r.releaseUnmatched(ctx, c, key, d.parent)
	}
	if !r.Controllers.MayPrune(ctx, c) {
		return Result{Retry: problem.RetrySoon}
	}
	stay := rec.childrenStay()
	if stay {
		r.Orphaning.Note(key, d.parent.UID()) // the garbage collector may end it before the next pass
	}
	var issue *problem.Problem // the first one
	removed := 0
	for _, l := range d.children {
		if d.parent.Deleting() && !l.Object.CrossScope() {
			continue // the garbage collector knows whether it is to stay: nothing here tells a deletion with --cascade=orphan once that has begun
		}
		if child.Entries(c.Spec.Children).PrunesUnmatched(l, d.parent.UID()) && !stay {
			issue = cmp.Or(issue, rec.remove(ctx, plan.Action{Verb: plan.Delete, Live: l}))
			removed++
		} else {
			issue = cmp.Or(issue, rec.leave(ctx, l))
		}
	}
	if issue != nil {
		r.Events.Announce(c.As, key, request.Announcement{About: d.parent, Type: corev1.EventTypeWarning, Reason: issue.Reason, Message: issue.Message})
		return Result{Retry: problem.RetryBackoff}
	}
	if removed > 0 {
		r.Events.Announce(c.As, key, request.Announcement{
			About: d.parent, Type: corev1.EventTypeNormal, Reason: v1.ReasonLeaving,
			Message: fmt.Sprintf("TemplateController %s no longer selects this object: its children are deleted", c.Name),
		})
	}
	return r.releaseUnmatched(ctx, c, key, d.parent)
}

// releaseUnmatched takes the finalizer from a parent that no longer matches.
func (r *Reconciler) releaseUnmatched(ctx context.Context, c *running.Controller, key queue.Key, parent *object.Object) Result {
	if _, issue := r.releaseParent(ctx, c, key, parent); issue != nil {
		klog.FromContext(ctx).Info("cannot remove the finalizer of a parent that no longer matches, will retry", "controller", c.Name, "parent", key.Parent.String(), "reason", issue.Message)
		return Result{Retry: max(problem.RetryBackoff, issue.Retry)}
	}
	return Result{}
}

// matches reports whether the parent matches all selectors, as the server sees it.
func (r *Reconciler) matches(ctx context.Context, c *running.Controller, key queue.Key, parent *object.Object) (bool, error) {
	if !c.Selects(parent.Namespace(), parent) {
		return false, nil
	}
	if c.Filter != nil {
		if admits, err := running.Evaluate(c.Program, parent); err != nil || !admits {
			return false, err
		}
	}
	if c.Spec.Watch.FieldSelector == "" {
		return true, nil
	}
	return c.Cluster.Selected(ctx, c.LocateParent(key), c.Labels.String(), c.Spec.Watch.FieldSelector)
}

// collectLeftovers sees to children of an earlier parent of the same name, which
// is gone: after a while it deletes what the garbage collector has left. It
// returns when to look at them again.
func (rec *reconciliation) collectLeftovers(ctx context.Context) Result {
	leftovers := rec.unlabelled
	for _, l := range rec.ChildrenNamed(rec.key.Parent) {
		if l.OfAnother(rec.parent.UID()) && !l.Object.Deleting() {
			leftovers = append(leftovers, l)
		}
	}
	if len(leftovers) == 0 {
		rec.r.endDeparture(rec.key, rec.parent.UID())
		return Result{}
	}
	if left := rec.r.Absences.Left(rec.key); left > 0 {
		return Result{After: left}
	}
	// A watch that has failed may still show an earlier parent, so that the leftovers are the present one's.
	if now, _ := rec.r.askForParent(ctx, rec.Controller, rec.key); now == nil || now.UID() != rec.parent.UID() {
		return Result{After: queue.CollectorTime}
	}
	return rec.r.collect(ctx, rec.Controller, rec.key, leftBehind{leftovers, rec.parent.UID()})
}
