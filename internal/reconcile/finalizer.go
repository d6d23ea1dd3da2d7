package reconcile

import (
	"context"

	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/answers"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
)

// holdFinalizer has the parent hold the finalizer where its deletion needs one. It comes before the first child is written.
func (rec *reconciliation) holdFinalizer(ctx context.Context) *problem.Problem {
	if !rec.NeedsFinalizer || rec.parent.HasFinalizer(rec.Finalizer) {
		return nil
	}
	after, err := rec.Cluster.SetFinalizers(ctx, rec.LocateParent(rec.key), rec.parent.ResourceVersion(), append(rec.parent.Finalizers(), rec.Finalizer))
	if err != nil {
		return rec.r.finalizerProblem(ctx, rec.Controller, rec.key, rec.parent, writeFailure{err, "set"})
	}
	rec.parent = after // the status is applied to this version
	rec.ParentCache(after.Namespace()).Put(after, rec.Name)
	klog.FromContext(ctx).V(2).Info("set the finalizer of a parent", "controller", rec.Name, "parent", rec.key.Parent.String())
	return nil
}

// dropFinalizer takes the finalizer from a parent whose deletion needs none, once it is known that no child is left that would be deleted
// before it. The parent alone tells whether it has one: the status of a TemplateController can be lost.
func (rec *reconciliation) dropFinalizer(ctx context.Context) *problem.Problem {
	if rec.NeedsFinalizer || !rec.parent.HasFinalizer(rec.Finalizer) || !rec.Complete(rec.key.Parent.Namespace) || !rec.goesAlone() {
		return nil
	}
	after, issue := rec.r.releaseParent(ctx, rec.Controller, rec.key, rec.parent)
	if after != nil {
		rec.parent = after // the status is applied to this version
	}
	return issue
}

// goesAlone reports whether no child is left that would go before the parent.
func (rec *reconciliation) goesAlone() bool { return len(teardown.First(rec.Spec, rec.observe())) == 0 }

// mayRelease reports whether the parent may need its finalizer no longer, after what the pass has written of its children.
func (rec *reconciliation) mayRelease() bool {
	return !rec.NeedsFinalizer && rec.written.Children && rec.parent.HasFinalizer(rec.Finalizer)
}

// releaseParent takes the controller's finalizer from a parent, and returns what the parent is then, nil where nothing was written.
func (r *Reconciler) releaseParent(ctx context.Context, c *running.Controller, key queue.Key, parent *object.Object) (*object.Object, *problem.Problem) {
	holder, holds := request.HolderOf(parent, c.Finalizer)
	if !holds {
		return nil, nil
	}
	after, err := c.Cluster.SetFinalizers(ctx, c.LocateParent(key), holder.Version, holder.Others)
	if answers.MissingObject(err) {
		return nil, nil
	}
	if err != nil {
		return nil, r.finalizerProblem(ctx, c, key, parent, writeFailure{err, "remove"})
	}
	gone := parent.Deleting() && len(holder.Others) == 0
	if cache := c.ParentCache(key.Parent.Namespace); cache != nil && !gone {
		cache.Put(after, c.Name)
	}
	if !c.NeedsFinalizer {
		r.SyncSoon(c.Name) // it may have been the last one
	}
	klog.FromContext(ctx).V(2).Info("removed the finalizer of a parent", "controller", c.Name, "parent", key.Parent.String())
	return after, nil
}

// writeFailure is the server's answer to a write of a parent's metadata, and what was to be done with the finalizer.
type writeFailure struct {
	err  error
	verb string
}

// finalizerProblem returns the problem that a parent reports for such a failure.
func (r *Reconciler) finalizerProblem(ctx context.Context, c *running.Controller, key queue.Key, parent *object.Object, f writeFailure) *problem.Problem {
	what := "cannot " + f.verb + " the finalizer " + c.Finalizer + ": "
	switch {
	case answers.MissingObject(f.err), r.overtaken(ctx, c, key, parent, f.err):
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: "the object has just changed", Waiting: true, Retry: problem.RetryNow}
	case rights.Denied(f.err):
		need := c.Rights.Claim(rights.Holding, c.Kind, key.Parent.Namespace)
		text, pending := c.Rights.Missing(f.err, need)
		return (&problem.Problem{Reason: v1.ReasonFinalizerRejected, Message: what + text, Pending: pending}).Lacks(c.Rights.Denial(f.err, need))
	}
	return &problem.Problem{Reason: v1.ReasonFinalizerRejected, Message: what + problem.PublicReason(f.err), Retry: problem.RetryBackoff}
}
