package controllers

import (
	"context"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// mayHold reports whether parents may have the finalizer of a TemplateController. Its status records that before the
// first parent gets it, and no parent gets it from a rejected spec. A status can be lost, for example in a restored
// backup. Then the TemplateController's own finalizer shows it, unless it is set because its children are deleted with
// it.
func (a *assembly) mayHold(tc *v1.TemplateController) bool {
	if tc.Status.Finalizes || a.rejection == nil && a.needs {
		return true
	}
	return tc.Spec.WhenDeleted != v1.DeleteChildren && !a.released && store.HasFinalizer(tc)
}

// seekStrays enqueues objects that have the finalizer but no longer match, because no watch shows them. It does so once
// for each generation that an operator starts with or receives.
func (f *finalizer) seekStrays(ctx context.Context, tc *v1.TemplateController, e *tracked, next *controller.Controller) error {
	if !tc.Status.Finalizes && !store.HasFinalizer(tc) { // no parent can have it before the TemplateController does
		e.sought = e.generation
	}
	if !next.MayHold || e.sought == e.generation || !next.Selective() || next.TeardownOnly || next.Unknown || next.Spec.Suspend {
		return nil
	}
	strays, known, err := f.deleter.Strays(ctx, next, e.namespaces)
	if !known || err != nil {
		return err
	}
	e.sought = e.generation
	f.requeuer.enqueueHolders(next.Name, strays)
	return nil
}

// noneHolds reports whether it is known that no parent has the finalizer of a controller that no longer needs it.
func (f *finalizer) noneHolds(ctx context.Context, e *tracked, next *controller.Controller) (bool, error) {
	switch {
	case !next.MayHold, next.NeedsFinalizer, next.Rollout != nil && next.Rollout.Base != nil && next.Rollout.Base.NeedsFinalizer, next.TeardownOnly, next.Unknown, next.Spec.Suspend:
		return false, nil
	}
	f.mu.RLock()
	current := e.current // running reconciliations may use an earlier spec
	busy := e.inProgress.Load() > 0
	f.mu.RUnlock()
	if current == nil || current.Generation != e.generation {
		return false, nil // called again once it runs
	}
	held := false
	next.EachParent(func(o *object.Object) { held = held || o.HasFinalizer(next.Finalizer) })
	if held {
		return false, nil // the reconciliation that removes the last one enqueues it
	}
	if busy { // asking the API server would be of no use
		f.queue.AddAfter(next.Name, countsDelay)
		return false, nil
	}
	holders, waits, err := deletion.Holders(ctx, next, e.namespaces)
	if err != nil || waits != nil {
		f.queue.AddAfter(next.Name, permissions.CacheTTL)
		return false, err
	}
	f.requeuer.enqueueHolders(next.Name, holders)
	return len(holders) == 0, nil
}

// retreat stops watching namespaces that the spec no longer includes, once they contain no children. It gives up on a
// namespace that the service account is no longer allowed to read.
func (f *finalizer) retreat(ctx context.Context, e *tracked, next *controller.Controller) {
	left := e.namespaces == nil && spec.ChildNamespaces(next.Spec) != nil // see widenScope
	for ns := range e.namespaces {
		if !next.IsLeaving(ns) {
			continue
		}
		if !next.IsDrained(ctx, ns) || !f.released(ctx, next, ns) {
			left = true
			continue
		}
		f.mu.Lock()
		e.namespaces = maps.Clone(e.namespaces)
		delete(e.namespaces, ns)
		f.mu.Unlock()
		f.queue.Add(next.Name) // to end the watches
	}
	if left {
		f.queue.AddAfter(next.Name, permissions.CacheTTL)
	}
}

// released reports whether no object in a namespace has the finalizer of a controller, or listing them is forbidden. It
// enqueues those that have it.
func (f *finalizer) released(ctx context.Context, next *controller.Controller, namespace string) bool {
	if !next.MayHold {
		return true
	}
	holders, none := deletion.HoldersIn(ctx, next, namespace)
	f.requeuer.enqueueHolders(next.Name, holders)
	return none
}
