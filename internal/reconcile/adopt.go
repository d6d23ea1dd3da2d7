package reconcile

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
)

// Children may be older than the keys that seal them: after an upgrade from a version without seals, or when the keys are lost. Those
// are sealed as they are found, and counted as children until then. Once none is left, the TemplateController's status
// says so, and an object without a seal is no child of it ever after.

// adopting reports whether children of a TemplateController may be older than the keys of the seals, which are there since then.
func adopting(tc *v1.TemplateController, since time.Time) bool {
	if since.IsZero() || !tc.CreationTimestamp.Time.Before(since) {
		return false
	}
	return tc.Status.SealedSince == nil || !tc.Status.SealedSince.Time.Equal(since)
}

// sealedSince is what the status says of the seals of the children. It ends the adoption where none is left without.
func (c *Controllers) sealedSince(tc *v1.TemplateController, e *entry, a assembly, next *controller) *metav1.Time {
	if !next.adopting {
		return tc.Status.SealedSince
	}
	if a.rejection != nil || a.kindErr != nil || next.spec.Suspend || !next.allSealed(c.clock.Since(e.since) < strayPatience) {
		c.queue.AddAfter(tc.Name, strayPatience) // nobody may tell that the last one has gone
		return tc.Status.SealedSince
	}
	next.adopting = false
	since := metav1.NewTime(c.seals.Since())
	return &since
}

// strayPatience is how long children without a seal may take to go whose parent is not there, or does not match.
const strayPatience = 5 * time.Minute

// allSealed reports whether all children are known, and none lacks a seal. Those whose parent is not there count while strays do.
func (c *controller) allSealed(strays bool) bool {
	if !c.completeEverywhere() || !readable(c.namespaces) {
		return false
	}
	for _, cache := range c.parents {
		if !readable(cache) {
			return false
		}
	}
	all := true
	c.eachChild(func(s source, o *object.Object) {
		if !all || o.Deleting() || !c.made(o, s.kind.GroupKind()) || c.sealed(o, s.kind.GroupKind()) {
			return
		}
		parent := c.parent(c.parentOf(o))
		switch _, owned := o.Controller(); {
		case parent != nil && string(parent.UID()) == o.Label(v1.LabelParentUID):
			all = parent.Deleting()
		default:
			all = !strays || !owned
		}
	})
	return all
}
