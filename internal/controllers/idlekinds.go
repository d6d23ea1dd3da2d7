package controllers

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// left is called when a pass is over.
func (e *tracked) left() {
	e.underWay.Add(-1)
	e.passes.Done()
}

// bit stands for a kind in tallies, which have room for 64; 0 is for one that there was no room for.
func (e *tracked) bit(gk schema.GroupKind) uint64 {
	if bit, known := e.bits[gk]; known {
		return bit
	}
	bit := uint64(1) << len(e.bits)
	e.bits[gk] = bit
	return bit
}

// dropIdleKinds forgets the kinds of children that no parent wants any more and of which nothing is left, so that their
// watches end and nobody needs rights on them. It is done on complete knowledge alone: every parent has been
// looked at since the kinds were last added to, and no pass is under way, which might still make an object. A kind that
// comes back is put on record again before the first object of it is.
func (c *Controllers) dropIdleKinds(name string, e *tracked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	current := e.current
	if current == nil || current.Generation != e.generation || current.Round != e.round || current.Spec.Suspend || current.Unknown || current.TeardownOnly {
		return
	}
	idle := e.idle(current)
	if len(idle) == 0 {
		return
	}
	if e.underWay.Load() > 0 {
		c.queue.AddAfter(name, countsDelay)
		return
	}
	for _, gk := range idle {
		delete(e.childKinds, gk)
		delete(e.settled, gk)
	}
	e.current = current.WithoutKinds(idle)
}

// idle returns the kinds that can be forgotten.
func (e *tracked) idle(current *running.Controller) []schema.GroupKind {
	wanted := uint64(0)
	for _, t := range e.counts.Tallies {
		wanted |= t.Kinds
	}
	var idle []schema.GroupKind
	for gk, s := range current.Sources {
		if s.Bit != 0 && wanted&s.Bit == 0 {
			idle = append(idle, gk)
		}
	}
	if len(idle) == 0 || !e.allSeen(current) {
		return nil
	}
	var empty []schema.GroupKind
	for _, gk := range idle {
		if current.NothingLeft(current.Sources[gk]) {
			empty = append(empty, gk)
		}
	}
	return empty
}

// allSeen reports whether each parent's last pass knew all that its templates want, in the present round.
func (e *tracked) allSeen(current *running.Controller) bool {
	if !current.ParentsComplete() {
		return false
	}
	seen := true
	current.EachParent(func(o *object.Object) {
		if e.counts.Tallies[o.Key()].Round != e.round {
			seen = false
		}
	})
	return seen
}
