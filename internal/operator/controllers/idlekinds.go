package controllers

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/controller"
)

// left is called at the end of a reconciliation.
func (e *tracked) left() {
	e.inProgress.Add(-1)
	e.reconciling.Done()
}

// bit returns the bit of a kind in the bitmaps of parent summaries, which have 64 bits; 0 means that none was free.
func (e *tracked) bit(gk schema.GroupKind) uint64 {
	if bit, known := e.bits[gk]; known {
		return bit
	}
	bit := uint64(1) << len(e.bits)
	e.bits[gk] = bit
	return bit
}

// recordReadable marks the child kinds that can be read by now, so that the next status records them. next does not
// create children of the others. A kind that is not recorded thus has no children, and can be dropped even if it cannot
// be read.
func (r *registry) recordReadable(e *tracked, next *controller.Controller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gk := range e.unrecorded {
		source, built := next.Sources[gk]
		if !built {
			continue // it was added in the meantime
		}
		source.Unrecorded = !source.AnyReadable()
		next.Sources[gk] = source
		if !source.Unrecorded {
			delete(e.unrecorded, gk)
		}
	}
}

// dropUnrecorded drops the kinds that are not recorded. A template that still renders one adds it again.
func (e *tracked) dropUnrecorded() {
	for gk := range e.unrecorded {
		delete(e.childKinds, gk)
	}
	clear(e.unrecorded)
}

// dropIdleKinds drops the child kinds that no template renders anymore and that have no objects, so that their watches
// end and need no permission. It requires complete knowledge: every parent was reconciled since a kind was last added,
// and no reconciliation is running, which might still create an object. A kind that is needed again is recorded again
// before its first object is created.
func (r *registry) dropIdleKinds(name string, e *tracked) {
	r.mu.RLock()
	current, due := e.current, len(e.unwanted()) > 0
	r.mu.RUnlock()
	complete, parents := false, []types.NamespacedName(nil)
	if due && current.ParentsComplete() {
		complete, parents = true, current.ParentNames() // without the lock: it may evaluate the filter
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.former = nil
	if !complete || e.current != current || !e.allSeen(parents) {
		return
	}
	e.former = e.unwanted()
	var empty []schema.GroupKind
	for gk := range e.former {
		if e.unrecorded[gk] || current.NothingLeft(current.Sources[gk]) {
			empty = append(empty, gk)
		}
	}
	if len(empty) == 0 {
		return
	}
	if e.inProgress.Load() > 0 {
		r.queue.AddAfter(name, countsDelay)
		return
	}
	for _, gk := range empty {
		delete(e.childKinds, gk)
		delete(e.custom, gk)
		delete(e.settled, gk)
		delete(e.unrecorded, gk)
	}
	e.current, e.state = current.WithoutKinds(empty), nil // the next start reconciles all parents: one may have needed a dropped kind since
}

// unwanted returns the child kinds that no template renders anymore, according to the parents that were reconciled. The
// caller holds the lock.
func (e *tracked) unwanted() map[schema.GroupKind]bool {
	current := e.current
	if current == nil || current.Generation != e.generation || current.Round != e.round || current.Spec.Suspend || current.Unknown || current.TeardownOnly {
		return nil
	}
	wanted := uint64(0)
	for _, t := range e.counts.ByParent {
		wanted |= t.Kinds
	}
	var unwanted map[schema.GroupKind]bool
	for gk, s := range current.Sources {
		if s.Bit == 0 || wanted&s.Bit != 0 || e.revised.trialKinds[gk] {
			continue
		}
		if unwanted == nil {
			unwanted = map[schema.GroupKind]bool{}
		}
		unwanted[gk] = true
	}
	return unwanted
}

// allSeen reports whether the last reconciliation of each of these parents rendered all templates in the current round.
func (e *tracked) allSeen(parents []types.NamespacedName) bool {
	return !slices.ContainsFunc(parents, func(name types.NamespacedName) bool { return e.counts.ByParent[name].Round != e.round })
}
