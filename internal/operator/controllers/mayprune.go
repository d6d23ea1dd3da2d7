package controllers

import (
	"context"

	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// MayPrune reports whether a controller may delete. One that this replica has taken over from another may have
// been edited just before, so that the server is asked once for its TemplateController.
func (c *Controllers) MayPrune(ctx context.Context, by *running.Controller) bool {
	c.mu.RLock()
	e := c.tracked[by.Name]
	sure := !c.led.Load() || e == nil || e.confirmed
	c.mu.RUnlock()
	if sure {
		return true
	}
	if !c.Unchanged(ctx, by) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e.confirmed = true
	return true
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
	if err != nil || now.UID() != e.uid || now.Generation() != by.Generation {
		klog.FromContext(ctx).Info("nothing is deleted or released until the current TemplateController is read, will retry", "controller", by.Name)
		return false
	}
	return true
}

// noteVersion takes note that the status was written of a TemplateController that is as it was read.
func (c *Controllers) noteVersion(e *tracked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.confirmed, e.recorded = true, true
}
