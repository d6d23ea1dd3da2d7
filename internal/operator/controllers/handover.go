package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
)

// handoverTime is how long the installation of another class may take to hand over a TemplateController. Its leader
// receives the change immediately. A leader that cannot reach the API server loses its lease after half of that time,
// and stops; see package leader.
const handoverTime = 30 * time.Second

// handover is a handover that a TemplateController waits for.
type handover struct {
	class string // class that still serves it
	since time.Time
}

// serve reports whether this replica may write for a TemplateController of its class: it leads, and the installation of
// another class that served it has handed it over, or does not respond.
func (c *Controllers) serve(ctx context.Context, tc *v1.TemplateController, e *tracked) bool {
	if c.standby.Load() {
		return false
	}
	if wait := c.handover(tc, e); wait > 0 {
		c.stop(ctx, tc.Key())
		c.queue.AddAfter(tc.Key(), wait)
		klog.FromContext(ctx).V(2).Info("waiting until the installation with another --class-name releases the TemplateController", "controller", tc.Key(), "class", *tc.Status.ClassName)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.since.IsZero() {
		e.since, e.confirmed, e.confirmedParents = c.clock.Now(), false, nil
		c.queue.AddAfter(tc.Key(), recountTime)
	}
	return true
}

// handover returns how long to wait for the other installation that serves a TemplateController of this class, or 0.
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

// release drops a TemplateController of another class. If this installation served it, it is handed over in its status,
// once no reconciliation of its parents is running. Children and everything else in the status are kept.
func (c *Controllers) release(ctx context.Context, tc *v1.TemplateController) error {
	if err := c.forget(ctx, tc.Key()); err != nil {
		return err
	}
	if holder := tc.Status.ClassName; c.standby.Load() || holder == nil || *holder != c.class {
		return nil
	}
	status := tc.Status
	status.ClassName = nil
	c.SetCondition(&status, tc, metav1.Condition{
		Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonReleased,
		Message: fmt.Sprintf("released by the installation with --class-name %q, but not yet taken over by the installation with --class-name %q: check that the latter is running",
			c.class, tc.Spec.ClassName),
	})
	if err := c.ApplyStatus(ctx, tc, status); err != nil {
		return err
	}
	klog.FromContext(ctx).Info("handed TemplateController over", "controller", tc.Key(), "class", tc.Spec.ClassName)
	return nil
}
