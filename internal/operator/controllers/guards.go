package controllers

import (
	"context"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// checks decides which TemplateControllers this replica serves, and what they may do.
type checks struct {
	*registry
	*store.Store

	class    string      // of the TemplateControllers to serve
	accounts bool        // a TemplateController must have a service account
	standby  atomic.Bool // another replica leads
	led      atomic.Bool // this replica was a standby before it led
}

// MayPrune reports whether a controller may delete and release objects: it must run the latest spec. The watch may have
// delivered a newer one that Sync has not started yet. If this replica took over from another one, its watch may not
// have delivered the latest one yet, so the API server is asked once.
func (s *checks) MayPrune(ctx context.Context, by *controller.Controller) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	confirmed := !s.led.Load() || e != nil && e.confirmed
	s.mu.RUnlock()
	return e != nil && isRunBy(s.Cached(by.Name), e, by) && (confirmed || s.Unchanged(ctx, by))
}

// Unchanged reads the TemplateController of a running controller from the API server, and reports whether the
// controller runs its current spec.
func (s *checks) Unchanged(ctx context.Context, by *controller.Controller) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	s.mu.RUnlock()
	if e == nil {
		return false
	}
	now, err := s.Cluster.Get(ctx, store.At(by.Name))
	if err != nil || !isRunBy(now, e, by) {
		klog.FromContext(ctx).Info("not deleting or releasing objects: the TemplateController could not be read or has changed, will retry", "controller", by.Name)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.confirmed = true
	return true
}

// Confirmed reports whether a cached parent is up to date. The previous leader may have seen a newer version, and
// created children that only that version renders. So the API server is asked once per parent.
func (s *checks) Confirmed(ctx context.Context, by *controller.Controller, parent *object.Object) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	confirmed := !s.led.Load() || e != nil && e.confirmedParents[parent.Key()] == parent.UID()
	s.mu.RUnlock()
	if e == nil || confirmed {
		return confirmed
	}
	now, err := by.Cluster.Get(ctx, controller.Locate(by.Kind, parent.Key()))
	if err != nil || now.UID() != parent.UID() || now.ResourceVersion() != parent.ResourceVersion() {
		klog.FromContext(ctx).Info("not deleting children: the parent could not be read or has changed, will retry", "controller", by.Name, "parent", parent.Key().String())
		return false
	}
	name := types.NamespacedName{Namespace: strings.Clone(parent.Namespace()), Name: strings.Clone(parent.Name())} // they are substrings of its data
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.confirmedParents == nil {
		e.confirmedParents = map[types.NamespacedName]types.UID{}
	}
	e.confirmedParents[name] = types.UID(strings.Clone(string(parent.UID())))
	return true
}

// isRunBy reports whether a controller runs the spec of tc, which may be nil.
func isRunBy(tc *object.Object, e *tracked, by *controller.Controller) bool {
	return tc != nil && tc.UID() == e.uid && tc.Generation() == by.Generation
}

// MayWrite reports whether the named TemplateController may write the status of a parent of that kind. It may not if it
// is deleted, watches another kind, no longer selects the parent, or is not accepted: then any client may be using its
// field manager.
func (s *checks) MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool {
	packed := s.Cached(name)
	if packed == nil {
		return !controller.Readable(s.CacheOf(name)) // it may exist nevertheless
	}
	if store.WatchedKind(packed) != kind {
		return false
	}
	other := s.get(name)
	if other == nil {
		return store.Accepted(packed)
	}
	return !other.Current(parent.Namespace) || other.Parent(parent) != nil
}
