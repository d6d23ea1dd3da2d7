package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
)

// handoverTime is how long the installation of another class may take to hand a TemplateController over.
// Its leader receives the change at once. A leader that cannot reach the API server has lost its
// lease after half of that time, and has stopped; see package leader.
const handoverTime = 30 * time.Second

// handover is what a TemplateController waits for.
type handover struct {
	class string // that still serves it
	since time.Time
}

// Lead ends the standby: it queues all TemplateControllers. Caches
// and templates are ready by then. TemplateControllers that the last leader has accepted are still accepted.
func (c *Controllers) Lead() {
	c.admitAll()
	c.led.Store(true)
	c.standby.Store(false)
	c.lookAtAll()
}

// KeysChanged queues all TemplateControllers because the keys of the seals have changed.
func (c *Controllers) KeysChanged() {
	if !c.standby.Load() {
		c.lookAtAll()
	}
}

func (c *Controllers) lookAtAll() {
	c.Cache.Each(func(o *object.Object) bool {
		c.queue.Add(o.Name())
		return true
	})
}

// serve reports whether this replica is the one to write for a TemplateController of its class: it leads, and
// the installation of another class that served it has handed it over, or does not answer.
func (c *Controllers) serve(ctx context.Context, tc *v1.TemplateController, e *tracked) bool {
	if c.standby.Load() {
		return false
	}
	if wait := c.handover(tc, e); wait > 0 {
		c.stop(ctx, tc.Name)
		c.queue.AddAfter(tc.Name, wait)
		klog.FromContext(ctx).V(2).Info("waiting until the installation with another --class-name releases the TemplateController", "controller", tc.Name, "class", *tc.Status.ClassName)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.since.IsZero() {
		e.since, e.confirmed, e.confirmedParents = c.clock.Now(), false, nil
		c.queue.AddAfter(tc.Name, recountTime)
	}
	return true
}

// handover returns how long to wait for the installation that serves a TemplateController of
// ours, or 0.
func (c *Controllers) handover(tc *v1.TemplateController, e *tracked) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tc.Status.ClassName == nil || *tc.Status.ClassName == c.class {
		e.waiting = handover{}
		return 0
	}
	if e.waiting.since.IsZero() || e.waiting.class != *tc.Status.ClassName {
		e.waiting = handover{*tc.Status.ClassName, c.clock.Now()}
		e.since = time.Time{}
	}
	return max(0, handoverTime-c.clock.Since(e.waiting.since))
}

// release drops a TemplateController of another class. If this installation has served it, it is
// handed over in its status, once no reconciliation of its parents is in progress. Children
// and everything else in the status are kept.
func (c *Controllers) release(ctx context.Context, tc *v1.TemplateController) error {
	if err := c.forget(ctx, tc.Name); err != nil {
		return err
	}
	if holder := tc.Status.ClassName; c.standby.Load() || holder == nil || *holder != c.class {
		return nil
	}
	status := tc.Status
	status.ClassName = nil
	c.SetCondition(&status, tc, metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonHandedOver,
		Message: fmt.Sprintf("the installation with --class-name %q released it, and the installation with --class-name %q has not taken it over yet: check that it is running",
			c.class, tc.Spec.ClassName),
	})
	if err := c.ApplyStatus(ctx, tc, status); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("handed TemplateController over", "controller", tc.Name, "class", tc.Spec.ClassName)
	return nil
}
