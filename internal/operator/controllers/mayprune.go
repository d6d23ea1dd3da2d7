package controllers

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// MayPrune reports whether a controller may delete and release: it must run the latest spec. The watch may know a newer one that Sync has not
// started yet. This replica may have taken over from another one before its watch knew the latest, so the server is asked once.
func (c *Controllers) MayPrune(ctx context.Context, by *running.Controller) bool {
	c.mu.RLock()
	e := c.tracked[by.Name]
	confirmed := !c.led.Load() || e != nil && e.confirmed
	c.mu.RUnlock()
	return e != nil && isRunBy(c.cache.Get(types.NamespacedName{Name: by.Name}), e, by) && (confirmed || c.Unchanged(ctx, by))
}

// Unchanged reads the TemplateController of a running controller from the API server, and reports whether its spec is still the one that
// the controller runs.
func (c *Controllers) Unchanged(ctx context.Context, by *running.Controller) bool {
	c.mu.RLock()
	e := c.tracked[by.Name]
	c.mu.RUnlock()
	if e == nil {
		return false
	}
	now, err := c.clusters("").Get(ctx, request.Location{Resource: v1.Resource, Name: by.Name})
	if err != nil || !isRunBy(now, e, by) {
		klog.FromContext(ctx).Info("nothing is deleted or released until the current TemplateController is read, will retry", "controller", by.Name)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.confirmed = true
	return true
}

// Confirmed reports whether a parent is as the server has it. The replica that led before may have read a newer version, and created children
// that only that one yields. So the server is asked once for each parent.
func (c *Controllers) Confirmed(ctx context.Context, by *running.Controller, parent *object.Object) bool {
	c.mu.RLock()
	e := c.tracked[by.Name]
	confirmed := !c.led.Load() || e != nil && e.confirmedParents[parent.Key()] == parent.UID()
	c.mu.RUnlock()
	if e == nil || confirmed {
		return confirmed
	}
	now, err := by.Cluster.Get(ctx, running.Locate(by.Kind, parent.Key()))
	if err != nil || now.UID() != parent.UID() || now.ResourceVersion() != parent.ResourceVersion() {
		klog.FromContext(ctx).Info("no child is deleted until the current parent is read, will retry", "controller", by.Name, "parent", parent.Key().String())
		return false
	}
	name := types.NamespacedName{Namespace: strings.Clone(parent.Namespace()), Name: strings.Clone(parent.Name())} // which are parts of its text
	c.mu.Lock()
	defer c.mu.Unlock()
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

// noteVersion takes note that the status was written of a TemplateController that is as it was read.
func (c *Controllers) noteVersion(e *tracked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.confirmed, e.recorded = true, true
}
