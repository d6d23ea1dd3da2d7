package controllers

import (
	"context"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// checks knows which TemplateControllers this replica serves, and as what.
type checks struct {
	*registry
	*store.Store

	class    string      // of the TemplateControllers that are served
	accounts bool        // whether a TemplateController must name a service account
	standby  atomic.Bool // whether another replica leads
	led      atomic.Bool // whether the standby is over
}

// MayPrune reports whether a controller may delete and release: it must run the latest spec. The watch may know a newer one that Sync has not
// started yet. This replica may have taken over from another one before its watch knew the latest, so the server is asked once.
func (s *checks) MayPrune(ctx context.Context, by *running.Controller) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	confirmed := !s.led.Load() || e != nil && e.confirmed
	s.mu.RUnlock()
	return e != nil && isRunBy(s.Cache.Get(types.NamespacedName{Name: by.Name}), e, by) && (confirmed || s.Unchanged(ctx, by))
}

// Unchanged reads the TemplateController of a running controller from the API server, and reports whether its spec is still the one that
// the controller runs.
func (s *checks) Unchanged(ctx context.Context, by *running.Controller) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	s.mu.RUnlock()
	if e == nil {
		return false
	}
	now, err := s.Cluster.Get(ctx, request.Location{Resource: v1.Resource, Name: by.Name})
	if err != nil || !isRunBy(now, e, by) {
		klog.FromContext(ctx).Info("nothing is deleted or released until the current TemplateController is read, will retry", "controller", by.Name)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.confirmed = true
	return true
}

// Confirmed reports whether a parent is as the server has it. The replica that led before may have read a newer version, and created children
// that only that one yields. So the server is asked once for each parent.
func (s *checks) Confirmed(ctx context.Context, by *running.Controller, parent *object.Object) bool {
	s.mu.RLock()
	e := s.tracked[by.Name]
	confirmed := !s.led.Load() || e != nil && e.confirmedParents[parent.Key()] == parent.UID()
	s.mu.RUnlock()
	if e == nil || confirmed {
		return confirmed
	}
	now, err := by.Cluster.Get(ctx, running.Locate(by.Kind, parent.Key()))
	if err != nil || now.UID() != parent.UID() || now.ResourceVersion() != parent.ResourceVersion() {
		klog.FromContext(ctx).Info("no child is deleted until the current parent is read, will retry", "controller", by.Name, "parent", parent.Key().String())
		return false
	}
	name := types.NamespacedName{Namespace: strings.Clone(parent.Namespace()), Name: strings.Clone(parent.Name())} // which are parts of its text
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.confirmedParents == nil {
		e.confirmedParents = map[types.NamespacedName]types.UID{}
	}
	e.confirmedParents[name] = types.UID(strings.Clone(string(parent.UID())))
	return true
}

// isRunBy reports whether a controller runs the spec of that TemplateController, which may be nil.
func isRunBy(tc *object.Object, e *tracked, by *running.Controller) bool {
	return tc != nil && tc.UID() == e.uid && tc.Generation() == by.Generation
}

// MayWrite reports whether the named TemplateController may write the status of a parent of that kind. It may not if it is deleted, watches
// another kind, no longer selects the parent, or is not accepted: anybody can use its field manager then.
func (s *checks) MayWrite(name string, kind schema.GroupKind, parent types.NamespacedName) bool {
	packed := s.Cache.Get(types.NamespacedName{Name: name})
	if packed == nil {
		return !running.Readable(s.Cache) // it may exist all the same
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
