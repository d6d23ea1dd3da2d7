package controllers

import (
	"context"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// finalizer does what has to be done before a TemplateController is deleted, and removes finalizers from parents that no longer need them.
type finalizer struct {
	*registry

	requeuer *requeuer
	checks   *checks
	deleter  *deletion.Deleter
	passing  *queue.WorkerTracker // of the workers that reconcile parents
	// grace is stopGrace, but in tests.
	grace time.Duration
}

// finalizing is the progress of the deletion of a TemplateController.
type finalizing struct {
	// leaving is whether it is being deleted, so that there is nothing else to do.
	leaving bool
	// waits is what it waits for, nil = nothing.
	waits *spec.Rejection
}

// finalize adds or removes the finalizer of a TemplateController, which it has only
// if its children are deleted with it, or parents may have its finalizer; the children of a suspended one are kept.
func (f *finalizer) finalize(ctx context.Context, tc *v1.TemplateController, e *tracked, packed *object.Object, next *running.Controller) (finalizing, error) {
	has := store.HasFinalizer(tc)
	needs := tc.Spec.WhenDeleted == v1.DeleteChildren || next.MayHold
	switch {
	case tc.DeletionTimestamp == nil && has == needs:
		return finalizing{}, nil
	case tc.DeletionTimestamp == nil && needs:
		waits, err := f.checks.SetFinalizer(ctx, tc, packed, true)
		return finalizing{false, waits}, err
	case tc.DeletionTimestamp != nil:
		if waits, err := f.finalizeDeleted(ctx, tc, e, next); waits != nil || err != nil {
			return finalizing{true, waits}, err
		}
	}
	if !has {
		return finalizing{leaving: true}, nil
	}
	waits, err := f.checks.SetFinalizer(ctx, tc, packed, false)
	return finalizing{tc.DeletionTimestamp != nil, waits}, err
}

// finalizeDeleted does what has to be done before the finalizer of a deleted TemplateController is removed.
func (f *finalizer) finalizeDeleted(ctx context.Context, tc *v1.TemplateController, e *tracked, next *running.Controller) (*spec.Rejection, error) {
	has := store.HasFinalizer(tc)
	deletes := has && tc.Spec.WhenDeleted == v1.DeleteChildren
	f.stop(ctx, tc.Name)
	if waits, err := f.reportEnding(ctx, e, next, deletes); waits != nil || err != nil {
		return waits, err
	}
	if has && next.MayHold {
		if waits, err := f.deleter.ReleaseParents(ctx, &e.Progress, next, e.namespaces); waits != nil || err != nil {
			return waits, err
		}
	}
	if deletes && !tc.Spec.Suspend {
		return f.deleter.DeleteChildren(ctx, next)
	}
	return nil, nil
}

// reportDeleted reports on parents the deletion of a TemplateController that no finalizer has kept, as far as this process ran it. An operator that was
// not running then knows nothing of it.
func (f *finalizer) reportDeleted(ctx context.Context, name string) (done bool, err error) {
	f.mu.Lock()
	e := f.tracked[name]
	if e != nil && e.current != nil {
		e.last = e.current
	}
	f.mu.Unlock()
	if e == nil || e.last == nil || f.checks.standby.Load() {
		return true, nil
	}
	f.stop(ctx, name)
	return f.deleter.Report(ctx, &e.Progress, e.last, false)
}

// reportEnding reports on parents that a TemplateController is deleted that a finalizer keeps still. It returns what the deletion waits for.
func (f *finalizer) reportEnding(ctx context.Context, e *tracked, next *running.Controller, deletesChildren bool) (*spec.Rejection, error) {
	done, err := f.deleter.Report(ctx, &e.Progress, next, deletesChildren)
	if done {
		return nil, err
	}
	return spec.Rejectf(v1.ReasonDeleting, "being deleted: updating the conditions of its parents"), err
}

// stopGrace is how long reconciliations may take to end by themselves when a controller, or the operator, stops. It is much
// less than handoverTime, so that none is in progress when another installation begins, and less than the grace period of a
// Pod, so that the lease is released.
const stopGrace = 10 * time.Second

// stop prevents new reconciliations of the controller, and returns when none is in progress. Those that do not
// end in time are cancelled.
func (f *finalizer) stop(ctx context.Context, name string) {
	defer queue.WorkerOf(ctx).Wait()()
	f.mu.Lock()
	e := f.tracked[name]
	if e != nil {
		e.current, e.state = nil, nil
	}
	f.mu.Unlock()
	if e == nil {
		return
	}
	impatient := time.AfterFunc(f.grace, func() { f.passing.Cut(name) })
	defer impatient.Stop()
	e.passes.Wait()
}
