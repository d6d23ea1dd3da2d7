package watch

import (
	"sync/atomic"

	"github.com/templater-dev/templater/internal/kube/object"
)

// maxLabels is the maximum number of label facets in an index. Terms with other labels are looked up without the label.
const maxLabels = 16

// ObjectIndex indexes objects by facets. T is the type of the indexed values, each of which represents an object. It is not safe
// for concurrent use, except that Has and Each can be called concurrently.
type ObjectIndex[T comparable] struct {
	facets map[Facet]*facetIndex[T]
	labels int // number of facets with a label
}

// facetIndex is the index for one facet.
type facetIndex[T comparable] struct {
	sets[T]
	used atomic.Bool // since the last CloseIdle
}

// Has reports whether the facet is indexed.
func (x *ObjectIndex[T]) Has(f Facet) bool { return x.facets[f] != nil }

// Open adds an index for the facet. If there are too many label facets, it changes nothing and returns false. The caller must add
// existing objects with File.
func (x *ObjectIndex[T]) Open(f Facet) bool {
	if x.facets[f] != nil {
		return true
	}
	if f.Label != "" {
		if x.labels == maxLabels {
			return false
		}
		x.labels++
	}
	if x.facets == nil {
		x.facets = map[Facet]*facetIndex[T]{}
	}
	x.facets[f] = &facetIndex[T]{sets: *newSets[T]()}
	x.facets[f].used.Store(true)
	return true
}

// CloseIdle drops the label facets that were neither opened nor used since its last call.
func (x *ObjectIndex[T]) CloseIdle() {
	for f, s := range x.facets {
		if used := s.used.Swap(false); !used && f.Label != "" {
			delete(x.facets, f)
			x.labels--
		}
	}
}

// File adds the holder of an object to the index of one facet.
func (x *ObjectIndex[T]) File(f Facet, o *object.Object, holder T) {
	if t, ok := f.Term(o); ok {
		x.facets[f].add(t.hash(), holder)
	}
}

// Add adds the holder of an object to all indexes.
func (x *ObjectIndex[T]) Add(o *object.Object, holder T) {
	for f := range x.facets {
		x.File(f, o, holder)
	}
}

// Remove removes the holder of an object from all indexes.
func (x *ObjectIndex[T]) Remove(o *object.Object, holder T) {
	for f, s := range x.facets {
		if t, ok := f.Term(o); ok {
			s.remove(t.hash(), holder)
		}
	}
}

// Replace updates the indexes when the holder's object changes.
func (x *ObjectIndex[T]) Replace(before, after *object.Object, holder T) {
	for f, s := range x.facets {
		was, filed := f.Term(before)
		is, files := f.Term(after)
		if filed == files && was == is {
			continue
		}
		if filed {
			s.remove(was.hash(), holder)
		}
		if files {
			s.add(is.hash(), holder)
		}
	}
}

// Each calls f for the holders of objects that may match the term; hashes can collide. If the facet is not indexed, it calls
// nothing and returns false.
func (x *ObjectIndex[T]) Each(t Term, f func(T)) bool {
	s := x.facets[t.Facet()]
	if s == nil {
		return false
	}
	if !s.used.Load() { // usually true, which avoids contention by writes
		s.used.Store(true)
	}
	s.each(t.hash(), f)
	return true
}

// sets are sets of values by the hash of their term. Most sets have one member, and need no map of their own.
type sets[T comparable] struct {
	one  map[uint64]T
	more map[uint64]map[T]struct{}
}

func newSets[T comparable]() *sets[T] {
	return &sets[T]{one: map[uint64]T{}, more: map[uint64]map[T]struct{}{}}
}

// add adds a value to a set, unless it is a member already.
func (s *sets[T]) add(hash uint64, thing T) {
	first, there := s.one[hash]
	switch {
	case !there:
		s.one[hash] = thing
	case first == thing:
	case s.more[hash] == nil:
		s.more[hash] = map[T]struct{}{thing: {}}
	default:
		s.more[hash][thing] = struct{}{}
	}
}

// remove removes a value from a set, if it is a member.
func (s *sets[T]) remove(hash uint64, thing T) {
	first, there := s.one[hash]
	if !there {
		return
	}
	if first != thing {
		s.leave(hash, thing)
		return
	}
	for next := range s.more[hash] {
		s.one[hash] = next
		s.leave(hash, next)
		return
	}
	delete(s.one, hash)
}

// leave removes a value from more.
func (s *sets[T]) leave(hash uint64, thing T) {
	delete(s.more[hash], thing)
	if len(s.more[hash]) == 0 {
		delete(s.more, hash)
	}
}

// each calls f for each member of a set.
func (s *sets[T]) each(hash uint64, f func(T)) {
	first, there := s.one[hash]
	if !there {
		return
	}
	f(first)
	for thing := range s.more[hash] {
		f(thing)
	}
}
