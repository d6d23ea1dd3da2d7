package reconcile

import (
	"context"

	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// holdFinalizer adds the finalizer to the parent if its deletion needs one. It is called before the first child is written.
func (rec *reconciliation) holdFinalizer(ctx context.Context) *problem.Problem {
	if !rec.NeedsFinalizer || rec.parent.HasFinalizer(rec.Finalizer) {
		return nil
	}
	after, err := rec.Cluster.SetFinalizers(ctx, rec.LocateParent(rec.key), rec.parent.ResourceVersion(), append(rec.parent.Finalizers(), rec.Finalizer))
	if err != nil {
		return rec.finalizerProblem(ctx, err, "set")
	}
	rec.parent = after // the status is applied to this version
	rec.KeepParent(after)
	klog.FromContext(ctx).V(2).Info("set the finalizer of a parent", "controller", rec.Name, "parent", rec.key.Parent.String())
	return nil
}

// dropFinalizer removes the finalizer from a parent whose deletion needs none, once it is certain that no children are left that would be
// deleted before the parent. It only trusts the parent's own finalizers: the status of a TemplateController can be lost.
func (rec *reconciliation) dropFinalizer(ctx context.Context) *problem.Problem {
	if rec.NeedsFinalizer || !rec.parent.HasFinalizer(rec.Finalizer) || !rec.deletions.current() || rec.hasChildrenToDelete() {
		return nil
	}
	after, issue := rec.removeFinalizer(ctx)
	if after != nil {
		rec.parent = after // the status is applied to this version
	}
	return issue
}

// hasChildrenToDelete reports whether any children are left that are deleted before the parent.
func (rec *reconciliation) hasChildrenToDelete() bool {
	return len(plan.DeletedFirst(rec.Spec, rec.observe())) > 0
}

// mayRelease reports whether the parent may no longer need its finalizer, after children were written.
func (rec *reconciliation) mayRelease() bool {
	return !rec.NeedsFinalizer && rec.guard.written.Children && rec.parent.HasFinalizer(rec.Finalizer)
}

// removeFinalizer removes the controller's finalizer from the parent. It returns the parent after the write, or nil if nothing was written.
func (rec *reconciliation) removeFinalizer(ctx context.Context) (*object.Object, *problem.Problem) {
	holder, holds := request.HolderOf(rec.parent, rec.Finalizer)
	if !holds {
		return nil, nil
	}
	if !rec.r.Controllers.MayPrune(ctx, rec.Controller) {
		return nil, rec.deletions.superseded()
	}
	after, err := rec.Cluster.SetFinalizers(ctx, rec.LocateParent(rec.key), holder.Version, holder.Others)
	if request.MissingObject(err) {
		return nil, nil
	}
	if err != nil {
		return nil, rec.finalizerProblem(ctx, err, "remove")
	}
	deleted := rec.parent.Deleting() && len(holder.Others) == 0
	if !deleted {
		rec.KeepParent(after)
	}
	if !rec.NeedsFinalizer {
		rec.r.SyncSoon(rec.Name) // it may have been the last parent with the finalizer
	}
	klog.FromContext(ctx).V(2).Info("removed the finalizer of a parent", "controller", rec.Name, "parent", rec.key.Parent.String())
	return after, nil
}

// annotate sets an annotation of the parent, and reports whether that succeeded.
func (rec *reconciliation) annotate(ctx context.Context, key, value string) bool {
	change := request.Metadata{UID: rec.parent.UID(), Annotations: map[string]any{key: value}}
	after, err := rec.Cluster.SetMetadata(ctx, rec.LocateParent(rec.key), change, rec.Manager)
	if err != nil {
		rec.problems = append(rec.problems, rec.finalizerProblem(ctx, err, "write the annotation for"))
		return false
	}
	rec.parent = after
	rec.KeepParent(after)
	klog.FromContext(ctx).V(2).Info("annotated a parent that is being deleted", "controller", rec.Name, "parent", rec.key.Parent.String(), "annotation", key)
	return true
}

// finalizerProblem returns the problem of a failed write to the parent's metadata. verb describes in messages how the write affects the
// finalizer.
func (rec *reconciliation) finalizerProblem(ctx context.Context, err error, verb string) *problem.Problem {
	text := "cannot " + verb + " the finalizer " + rec.Finalizer + ": "
	switch {
	case request.MissingObject(err), rec.overtaken(ctx, err):
		return &problem.Problem{Reason: v1.ReasonProgressing, Message: "the object has been modified, retrying", Waiting: true, Retry: problem.RetryNow}
	case permissions.Denied(err):
		need := rec.Rights.Claim(permissions.Holding, rec.Kind, rec.key.Parent.Namespace)
		missing, pending := rec.Rights.Missing(err, need)
		return (&problem.Problem{Reason: v1.ReasonFinalizerRejected, Message: text + missing, Pending: pending}).Lacks(rec.Rights.Denial(err, need))
	}
	return &problem.Problem{Reason: v1.ReasonFinalizerRejected, Message: text + problem.PublicReason(err), Retry: problem.RetryBackoff}
}
