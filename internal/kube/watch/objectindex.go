package watch

import (
	"sync/atomic"

	"github.com/templater-dev/templater/internal/kube/object"
)

// mostLabels is how many labels an index finds things by. What asks for more is found by the rest of its term.
const mostLabels = 16

// ObjectIndex is an index of objects by the facets that were asked for. T is what holds an object. It is not safe for concurrent use, but
// that Has and Each may be called at a time.
type ObjectIndex[T comparable] struct {
	facets map[Facet]*shelf[T]
	labels int // how many facets are about a label
}

// shelf is where objects are filed by one facet.
type shelf[T comparable] struct {
	sets[T]
	used atomic.Bool // since CloseIdle
}

// Has reports whether objects are filed by the facet.
func (x *ObjectIndex[T]) Has(f Facet) bool { return x.facets[f] != nil }

// Open has objects be filed by the facet from now on, and reports whether there is room for that: else it changes nothing. What is there
// already has to be filed by File.
func (x *ObjectIndex[T]) Open(f Facet) bool {
	if x.facets[f] != nil {
		return true
	}
	if f.Label != "" {
		if x.labels == mostLabels {
			return false
		}
		x.labels++
	}
	if x.facets == nil {
		x.facets = map[Facet]*shelf[T]{}
	}
	x.facets[f] = &shelf[T]{sets: *newSets[T]()}
	x.facets[f].used.Store(true)
	return true
}

// CloseIdle gives up the facets about a label that were not opened, and by which nothing was looked up, since it was last called.
func (x *ObjectIndex[T]) CloseIdle() {
	for f, s := range x.facets {
		if used := s.used.Swap(false); !used && f.Label != "" {
			delete(x.facets, f)
			x.labels--
		}
	}
}

// File files what holds an object by one facet.
func (x *ObjectIndex[T]) File(f Facet, o *object.Object, holder T) {
	if t, ok := f.Term(o); ok {
		x.facets[f].add(t.hash(), holder)
	}
}

// Add files what holds an object by all facets.
func (x *ObjectIndex[T]) Add(o *object.Object, holder T) {
	for f := range x.facets {
		x.File(f, o, holder)
	}
}

// Remove takes out what holds an object.
func (x *ObjectIndex[T]) Remove(o *object.Object, holder T) {
	for f, s := range x.facets {
		if t, ok := f.Term(o); ok {
			s.remove(t.hash(), holder)
		}
	}
}

// Replace files by after what was filed by before.
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

// Each calls f for what holds the objects that the term may name; two terms may have one hash. It reports whether its facet is
// open: else it calls nothing.
func (x *ObjectIndex[T]) Each(t Term, f func(T)) bool {
	s := x.facets[t.Facet()]
	if s == nil {
		return false
	}
	if !s.used.Load() { // most often it is, and nobody has to wait for a write
		s.used.Store(true)
	}
	s.each(t.hash(), f)
	return true
}

// sets are sets of things, by the hash of the term that they are filed under. Most have one member, which
// takes no set of its own.
type sets[T comparable] struct {
	one  map[uint64]T
	more map[uint64]map[T]struct{}
}

func newSets[T comparable]() *sets[T] {
	return &sets[T]{one: map[uint64]T{}, more: map[uint64]map[T]struct{}{}}
}

// add puts a thing into a set; it may be there already.
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

// remove takes a thing out of a set; it need not be there.
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

// leave takes a thing out of those besides the first.
func (s *sets[T]) leave(hash uint64, thing T) {
	delete(s.more[hash], thing)
	if len(s.more[hash]) == 0 {
		delete(s.more, hash)
	}
}

// each calls f for everything in a set.
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
