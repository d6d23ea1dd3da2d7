package controllers

import (
	"context"
	"maps"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// mayHold reports whether parents may have the finalizer of a TemplateController. Its status says so before the first of them has it, and
// no parent gets it by a spec that is rejected. A status can be lost, as in a restored backup. Then the TemplateController's own
// finalizer says so, unless it has that because its children are to be deleted with it.
func (a *assembly) mayHold(tc *v1.TemplateController) bool {
	if tc.Status.Finalizes || a.rejection == nil && spec.NeedsFinalizer(&tc.Spec) {
		return true
	}
	return tc.Spec.WhenDeleted != v1.DeleteChildren && !a.released && store.HasFinalizer(tc)
}

// seekStrays has the departure seen to of objects that have the finalizer and match no longer: no watch shows them. It is done once for each
// spec that an operator starts with or gets.
func (f *finalizer) seekStrays(ctx context.Context, tc *v1.TemplateController, e *tracked, next *running.Controller) error {
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
	f.requeuer.lookAtHolders(next.Name, strays)
	return nil
}

// noneHolds reports whether it is known that no parent has the finalizer of a controller that does not need it any more.
func (f *finalizer) noneHolds(ctx context.Context, e *tracked, next *running.Controller) (bool, error) {
	switch {
	case !next.MayHold, next.NeedsFinalizer, next.TeardownOnly, next.Unknown, next.Spec.Suspend:
		return false, nil
	}
	f.mu.RLock()
	current := e.current // reconciliations in progress may be of an earlier spec
	busy := e.underWay.Load() > 0
	f.mu.RUnlock()
	if current == nil || current.Generation != e.generation {
		return false, nil // comes again once it runs
	}
	held := false
	next.EachParent(func(o *object.Object) { held = held || o.HasFinalizer(next.Finalizer) })
	if held {
		return false, nil // the reconciliation that removes the last one queues it
	}
	if busy { // then the server is not worth asking
		f.queue.AddAfter(next.Name, countsDelay)
		return false, nil
	}
	holders, waits, err := deletion.Holders(ctx, next, e.namespaces)
	if err != nil || waits != nil {
		f.queue.AddAfter(next.Name, permissions.BelievedFor)
		return false, err
	}
	f.requeuer.lookAtHolders(next.Name, holders)
	return len(holders) == 0, nil
}

// retreat stops watching namespaces that the spec no longer includes, once no child is left there. It
// gives up if the service account is no longer allowed to read there.
func (f *finalizer) retreat(ctx context.Context, e *tracked, next *running.Controller) {
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
		f.queue.AddAfter(next.Name, permissions.BelievedFor)
	}
}

// released reports whether no object in a namespace has the finalizer of a controller, or none can be read. It queues those that have it.
func (f *finalizer) released(ctx context.Context, next *running.Controller, namespace string) bool {
	if !next.MayHold {
		return true
	}
	holders, none := deletion.HoldersIn(ctx, next, namespace)
	f.requeuer.lookAtHolders(next.Name, holders)
	return none
}
