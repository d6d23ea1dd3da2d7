package controller

import (
	"iter"
	"slices"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/revision"
)

// Rollout decides which parents have the revision of a Controller, while others still have an earlier one.
type Rollout struct {
	// Selected are the parents that have the revision.
	Selected revision.Selection
	// Superseded are parents that have a revision whose rollout was replaced. They are left as they are until they are admitted.
	Superseded revision.Selection
	// Base runs the revision of all other parents. If it is nil, that revision is not known, and they are left as they are.
	Base *Controller
}

// For returns the controller with the revision of a parent, or nil if the parent must be left as it is. A parent that is being deleted always
// has a controller: if its revision does not run, it is cleaned up with that of the parents that are not updated yet.
func (c *Controller) For(parent *object.Object) *Controller {
	r := c.Rollout
	switch {
	case r == nil, r.Selected.Has(parent.UID()):
		return c
	case r.Superseded.Has(parent.UID()), r.Base == nil:
		switch {
		case !parent.Deleting():
			return nil
		case r.Base == nil:
			return c
		}
	}
	return r.Base
}

// revisionOf returns the revision of a parent, or "" if it must be left as it is.
func (c *Controller) revisionOf(parent *object.Object) string {
	if of := c.For(parent); of != nil {
		return of.Revision
	}
	return ""
}

// Moved returns the parents that have another revision in next than in c.
func (c *Controller) Moved(next *Controller) (moved []*object.Object) {
	if c.Rollout == nil && next.Rollout == nil && c.Revision == next.Revision {
		return nil
	}
	next.EachParent(func(o *object.Object) {
		if c.revisionOf(o) != next.revisionOf(o) {
			moved = append(moved, o)
		}
	})
	return moved
}

// AllRelated yields the related entries of all revisions.
func (c *Controller) AllRelated() iter.Seq[*related.Entry] {
	return func(yield func(*related.Entry) bool) {
		all := c.Related
		if c.Rollout != nil && c.Rollout.Base != nil {
			all = slices.Concat(all, c.Rollout.Base.Related)
		}
		for _, e := range all {
			if !yield(e) {
				return
			}
		}
	}
}
