package reconcile

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/object"
)

// left is called when a pass is over.
func (e *entry) left() {
	e.underWay.Add(-1)
	e.passes.Done()
}

// bit stands for a kind in tallies, which have room for 64; 0 is for one that there was no room for.
func (e *entry) bit(gk schema.GroupKind) uint64 {
	if bit, known := e.bits[gk]; known {
		return bit
	}
	bit := uint64(1) << len(e.bits)
	e.bits[gk] = bit
	return bit
}

// shed forgets the kinds of children that no parent wants any more and of which nothing is left, so that their
// watches end and nobody needs rights on them. It is done on complete knowledge alone: every parent has been
// looked at since the kinds were last added to, and no pass is under way, which might still make an object. A kind that
// comes back is put on record again before the first object of it is.
func (c *Controllers) shed(name string, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := e.current
	if running == nil || running.generation != e.generation || running.round != e.round || running.spec.Suspend || running.unknown {
		return
	}
	idle := e.idle(running)
	if len(idle) == 0 {
		return
	}
	if e.underWay.Load() > 0 {
		c.queue.AddAfter(name, countsDelay)
		return
	}
	next := *running
	next.sources = maps.Clone(running.sources)
	for _, gk := range idle {
		delete(next.sources, gk)
		delete(e.childKinds, gk)
		delete(e.settled, gk)
	}
	e.current = &next
}

// idle returns the kinds that can be forgotten.
func (e *entry) idle(running *controller) []schema.GroupKind {
	wanted := uint64(0)
	for _, t := range e.counts.tallies {
		wanted |= t.kinds
	}
	var idle []schema.GroupKind
	for gk, s := range running.sources {
		if s.bit != 0 && wanted&s.bit == 0 {
			idle = append(idle, gk)
		}
	}
	if len(idle) == 0 || !e.allSeen(running) {
		return nil
	}
	var empty []schema.GroupKind
	for _, gk := range idle {
		if running.nothingLeft(running.sources[gk]) {
			empty = append(empty, gk)
		}
	}
	return empty
}

// allSeen reports whether each parent's last pass knew all that its templates want, in the present round.
func (e *entry) allSeen(running *controller) bool {
	for _, cache := range running.parents {
		if !readable(cache) {
			return false
		}
	}
	if !readable(running.namespaces) {
		return false
	}
	seen := true
	running.eachParent(func(o *object.Object) {
		if e.counts.tallies[o.Key()].round != e.round {
			seen = false
		}
	})
	return seen
}

// nothingLeft reports whether it is known that no object of a kind carries the label of this controller.
func (c *controller) nothingLeft(s source) bool {
	if s.err != nil {
		return false
	}
	found := false
	for _, cache := range s.caches {
		if !readable(cache) {
			return false
		}
		cache.EachChild(c.name, func(*object.Object) { found = true })
	}
	return !found
}
