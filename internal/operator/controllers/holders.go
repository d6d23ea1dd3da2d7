package controllers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
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
	return tc.Spec.WhenDeleted != v1.DeleteChildren && !a.released && hasOwnFinalizer(tc)
}

// hasOwnFinalizer reports whether a TemplateController has the finalizer of its own.
func hasOwnFinalizer(tc *v1.TemplateController) bool {
	return slices.Contains(tc.Finalizers, v1.FinalizerChildren)
}

// kindOfHolders returns the parents' kind, also where it is about to go.
func (f *finalizer) kindOfHolders(of *running.Controller) (kind.Kind, error) {
	found, err := f.builder.resolveServed(of.GVK)
	if ending := kind.Ending(err); ending != nil {
		return *ending, nil
	}
	return found, err
}

// holders asks the server for all objects that have the finalizer of a controller, be they its parents still or not.
func (f *finalizer) holders(ctx context.Context, e *tracked, of *running.Controller) ([]request.Holder, *spec.Rejection, error) {
	parents, err := f.kindOfHolders(of)
	switch {
	case kind.Gone(err):
		return nil, nil, nil
	case kind.Missing(err):
		return nil, spec.Rejectf(v1.ReasonKindNotFound, "%s", err), nil
	case err != nil:
		return nil, spec.Rejectf(v1.ReasonListFailed, "API discovery failed: %s", problem.PublicReason(err)), nil
	}
	in := []string{""}
	switch watched := of.Spec.Watch.Namespaces; {
	case !parents.Namespaced || of.As == "":
	case e.namespaces != nil:
		in = slices.Sorted(maps.Keys(e.namespaces))
	case len(watched) > 0: // and children are read in all; there may be parents in namespaces that were watched before
		out, err := of.Cluster.Holders(ctx, parents.Resource, "", of.Finalizer)
		if err == nil {
			return out, nil, nil
		}
		if !permissions.Denied(err) {
			return nil, nil, fmt.Errorf("list parents of TemplateController %s: %w", of.Name, err)
		}
		in = watched // as far as its permissions go
	}
	var out []request.Holder
	for _, ns := range in {
		some, err := of.Cluster.Holders(ctx, parents.Resource, ns, of.Finalizer)
		if permissions.Denied(err) {
			text, _ := of.Rights.Missing(err, of.Rights.Claim(permissions.Parents, parents, ns))
			return nil, &spec.Rejection{Reason: v1.ReasonForbidden, Message: text}, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("list parents of TemplateController %s: %w", of.Name, err)
		}
		out = append(out, some...)
	}
	return out, nil, nil
}

// seekStrays has the departure seen to of objects that have the finalizer and match no longer: no watch shows them. It is done once for each
// spec that an operator starts with or gets.
func (f *finalizer) seekStrays(ctx context.Context, tc *v1.TemplateController, e *tracked, next *running.Controller) error {
	if !tc.Status.Finalizes && !hasOwnFinalizer(tc) { // no parent can have it before the TemplateController does
		e.sought = e.generation
	}
	if !next.MayHold || e.sought == e.generation || !next.Selective() || next.TeardownOnly || next.Unknown || next.Spec.Suspend {
		return nil
	}
	for _, cache := range next.Parents {
		if !cache.Synced() {
			return nil // comes again when it has
		}
	}
	if next.Namespaces != nil && !next.Namespaces.Synced() {
		return nil
	}
	holders, waits, err := f.holders(ctx, e, next)
	if waits != nil {
		klog.FromContext(ctx).Info("cannot list parents that no longer match, will retry", "controller", next.Name, "reason", waits.Message)
		f.queue.AddAfter(next.Name, permissions.BelievedFor)
		return nil
	}
	if err != nil {
		return err
	}
	e.sought = e.generation
	f.requeuer.lookAtHolders(next.Name, slices.DeleteFunc(holders, func(h request.Holder) bool { return next.Parent(h.Name) != nil }))
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
	holders, waits, err := f.holders(ctx, e, next)
	if err != nil || waits != nil {
		f.queue.AddAfter(next.Name, permissions.BelievedFor)
		return false, err
	}
	f.requeuer.lookAtHolders(next.Name, holders)
	return len(holders) == 0, nil
}

// noneHoldsIn reports whether no object in a namespace has the finalizer of a controller, or none can be read. Those that have it are queued.
func (f *finalizer) noneHoldsIn(ctx context.Context, next *running.Controller, namespace string) bool {
	if !next.MayHold {
		return true
	}
	parents, err := f.kindOfHolders(next)
	if err != nil {
		return kind.Gone(err)
	}
	holders, err := next.Cluster.Holders(ctx, parents.Resource, namespace, next.Finalizer)
	if permissions.Denied(err) {
		klog.FromContext(ctx).Info("leaving parents in a namespace that is no longer watched: not allowed to read them", "controller", next.Name, "namespace", namespace, "user", next.As)
		return true
	}
	f.requeuer.lookAtHolders(next.Name, holders)
	return err == nil && len(holders) == 0
}
