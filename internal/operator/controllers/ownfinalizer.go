package controllers

import (
	"context"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// finalizer does the cleanup before a TemplateController is deleted, and removes finalizers from parents that no longer
// need them.
type finalizer struct {
	*registry

	requeuer    *requeuer
	checks      *checks
	deleter     *deletion.Deleter
	reconcilers *queue.WorkerTracker // of the workers that reconcile parents
	// grace is stopGrace, except in tests.
	grace time.Duration
}

// finalizing is the progress of the deletion of a TemplateController.
type finalizing struct {
	// leaving: it is being deleted, so that there is nothing else to do.
	leaving bool
	// waits describes what it waits for; nil = nothing.
	waits *spec.Rejection
}

// finalize adds or removes the finalizer of a TemplateController. The TemplateController only has it if its children
// are deleted with it, or parents may have its finalizer. The children of a suspended TemplateController are kept.
func (f *finalizer) finalize(ctx context.Context, tc *v1.TemplateController, e *tracked, packed *object.Object, next *controller.Controller) (finalizing, error) {
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

// finalizeDeleted does the cleanup before the finalizer of a deleted TemplateController is removed. It returns what the
// deletion waits for, or nil.
func (f *finalizer) finalizeDeleted(ctx context.Context, tc *v1.TemplateController, e *tracked, next *controller.Controller) (*spec.Rejection, error) {
	has := store.HasFinalizer(tc)
	deletes := has && tc.Spec.WhenDeleted == v1.DeleteChildren
	f.stop(ctx, tc.Key())
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

// reportDeleted reports the deletion of a TemplateController without a finalizer on its parents, if this process ran
// it. An operator that was not running at that time cannot report it.
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

// reportEnding reports on parents that their TemplateController is being deleted. It returns what the deletion waits
// for, or nil.
func (f *finalizer) reportEnding(ctx context.Context, e *tracked, next *controller.Controller, deletesChildren bool) (*spec.Rejection, error) {
	done, err := f.deleter.Report(ctx, &e.Progress, next, deletesChildren)
	if done {
		return nil, err
	}
	return spec.Rejectf(v1.ReasonDeleting, "being deleted: updating the conditions of its parents"), err
}

// stopGrace is how long reconciliations may take to finish when a controller, or the operator, stops. It is much less
// than handoverTime, so that none is running when another installation takes over, and less than the termination grace
// period of a Pod, so that the lease is released.
const stopGrace = 10 * time.Second

// stop prevents new reconciliations of the controller, and blocks until none is running. Reconciliations that exceed
// the grace period are canceled.
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
	impatient := time.AfterFunc(f.grace, func() { f.reconcilers.Cut(name) })
	defer impatient.Stop()
	e.reconciling.Wait()
}
