package controllers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// sealedSince is what the status says of the seals of the children. It ends the adoption where none is left without:
// see child.Ownership.
func (c *Controllers) sealedSince(tc *v1.TemplateController, e *tracked, a assembly, next *running.Controller) *metav1.Time {
	if !next.Factory.Adopting {
		return tc.Status.SealedSince
	}
	c.mu.RLock()
	recent := c.clock.Since(e.since) < strayPatience
	c.mu.RUnlock()
	if a.rejection != nil || a.kindErr != nil || next.Spec.Suspend || !next.AllSealed(recent) {
		c.queue.AddAfter(tc.Name, strayPatience) // nobody may tell that the last one has gone
		return tc.Status.SealedSince
	}
	next.Factory.Adopting = false
	since := metav1.NewTime(c.seals.Since())
	return &since
}

// strayPatience is how long children without a seal may take to go whose parent is not there, or does not match.
const strayPatience = 5 * time.Minute
