package reconcile

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
)

// sealedSince is what the status says of the seals of the children. It ends the adoption where none is left without:
// see child.Ownership.
func (c *Controllers) sealedSince(tc *v1.TemplateController, e *entry, a assembly, next *controller) *metav1.Time {
	if !next.factory.Adopting {
		return tc.Status.SealedSince
	}
	if a.rejection != nil || a.kindErr != nil || next.spec.Suspend || !next.allSealed(c.clock.Since(e.since) < strayPatience) {
		c.queue.AddAfter(tc.Name, strayPatience) // nobody may tell that the last one has gone
		return tc.Status.SealedSince
	}
	next.factory.Adopting = false
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
		if !all || !c.factory.Unsealed(o, s.kind.GroupKind()) {
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
