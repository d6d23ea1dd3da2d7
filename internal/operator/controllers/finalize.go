package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// finalizer does what has to be done before a TemplateController is deleted, and removes finalizers from parents that no longer need them.
type finalizer struct {
	*registry

	requeuer *requeuer
	store    *store
	builder  *builder
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
	has := hasOwnFinalizer(tc)
	needs := tc.Spec.WhenDeleted == v1.DeleteChildren || next.MayHold
	switch {
	case tc.DeletionTimestamp == nil && has == needs:
		return finalizing{}, nil
	case tc.DeletionTimestamp == nil && needs:
		waits, err := f.store.setFinalizer(ctx, tc, packed, true)
		return finalizing{false, waits}, err
	case tc.DeletionTimestamp != nil:
		if waits, err := f.finalizeDeleted(ctx, tc, e, next); waits != nil || err != nil {
			return finalizing{true, waits}, err
		}
	}
	if !has {
		return finalizing{leaving: true}, nil
	}
	waits, err := f.store.setFinalizer(ctx, tc, packed, false)
	return finalizing{tc.DeletionTimestamp != nil, waits}, err
}

// finalizeDeleted does what has to be done before the finalizer of a deleted TemplateController is removed.
func (f *finalizer) finalizeDeleted(ctx context.Context, tc *v1.TemplateController, e *tracked, next *running.Controller) (*spec.Rejection, error) {
	has := hasOwnFinalizer(tc)
	deletes := has && tc.Spec.WhenDeleted == v1.DeleteChildren
	f.stop(ctx, tc.Name)
	if waits, err := f.reportEnding(ctx, e, next, deletes); waits != nil || err != nil {
		return waits, err
	}
	if has && next.MayHold {
		if waits, err := f.releaseParents(ctx, e, next); waits != nil || err != nil {
			return waits, err
		}
	}
	if deletes && !tc.Spec.Suspend {
		return f.deleteChildren(ctx, next)
	}
	return nil, nil
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

// deletionsAtATime is how many children are deleted before other work has its turn. Then, or when they take longer
// than patience, the TemplateController is synced again: it may be suspended meanwhile.
const deletionsAtATime = 100

// deleteChildren deletes the children that are deleted with their TemplateController, some at a time, and
// returns what it waits for, nil when none is left. The error is to be retried.
func (f *finalizer) deleteChildren(ctx context.Context, from *running.Controller) (waits *spec.Rejection, err error) {
	since := from.EverywhereSince()
	if !from.CompleteEverywhere() { // synced again when the caches have synced
		reason, message := from.ChildObstacle()
		if from.ChildrenReadable() { // a watch is between two requests, and no event says when it runs again
			err = errBehind
		}
		return spec.Rejectf(reason, "being deleted: waiting until it can read its children: %s", message), err
	}
	var left, due []*child.Live
	from.EachChild(func(s running.Source, o *object.Object) {
		l := from.Factory.Live(s.Kind, o)
		if !from.Factory.GoesWith(l, from.Spec.Children) {
			return
		}
		left = append(left, l)
		if !o.Deleting() {
			due = append(due, l)
		}
	})
	if len(left) == 0 {
		return nil, nil
	}
	if len(due) > 0 && (since == 0 || !f.store.MayPrune(ctx, from)) {
		return nil, errBehind // it may be suspended by now, or have other policies
	}
	if len(due) > deletionsAtATime { // those that the server refuses must not block the others
		due = slices.Concat(due[rand.IntN(len(due)):], due)[:deletionsAtATime] //nolint:gosec // keeps no secret
	}
	refused, err := f.deleteSome(ctx, decided{from, since}, due)
	if refused == nil {
		return &spec.Rejection{Reason: v1.ReasonDeleting, Message: child.Going(left)}, err
	}
	reason := v1.ReasonDeleting
	if refused.Reason == v1.ReasonChildForbidden {
		reason = v1.ReasonForbidden
	}
	return &spec.Rejection{Reason: reason, Message: "being deleted: " + refused.Message}, err
}

// decided is a TemplateController whose children are to be deleted, and the data by which: see EverywhereSince.
type decided struct {
	*running.Controller
	since uint64
}

// deleteSome deletes children for a while, and queues the TemplateController again
// if it deleted some. It returns the first refusal, too.
func (f *finalizer) deleteSome(ctx context.Context, from decided, children []*child.Live) (refused *problem.Problem, err error) {
	var errs []error
	start, accepted := f.clock.Now(), 0
	for _, l := range child.Sort(children) {
		if f.clock.Since(start) >= queue.Patience {
			break
		}
		if from.EverywhereSince() != from.since || !f.store.MayPrune(ctx, from.Controller) {
			return refused, errors.Join(append(errs, errBehind)...) // a watch has failed meanwhile, or there is a newer spec
		}
		done, issue := from.Delete(ctx, l, request.Deletion{Propagation: metav1.DeletePropagationBackground})
		if issue != nil {
			refused = cmp.Or(refused, issue)
			errs = append(errs, fmt.Errorf("TemplateController %s: %s", from.Name, issue.Message))
		}
		if !done {
			continue
		}
		accepted++
		klog.FromContext(ctx).Info("deleted a child of a TemplateController that is being deleted", "controller", from.Name, "child", l.ID().String())
	}
	if accepted > 0 {
		f.queue.Add(from.Name) // until there is no more to ask for
	}
	return refused, errors.Join(errs...)
}
