package lookup

import (
	"sync/atomic"

	"github.com/templater-dev/templater/internal/kube/object"
)

// MostLabels is how many labels an index finds things by. What asks for more is found by the rest of its term.
const MostLabels = 16

// Objects is an index of objects by the facets that were asked for. T is what holds an object. It is not safe for concurrent use, but
// that Has and Each may be called at a time.
type Objects[T comparable] struct {
	facets map[Facet]*shelf[T]
	labels int // how many facets are about a label
}

// shelf is where objects are filed by one facet.
type shelf[T comparable] struct {
	sets[T]
	used atomic.Bool // since CloseIdle
}

// Has reports whether objects are filed by the facet.
func (x *Objects[T]) Has(f Facet) bool { return x.facets[f] != nil }

// Open has objects be filed by the facet from now on, and reports whether there is room for that: else it changes nothing. What is there
// already has to be filed by File.
func (x *Objects[T]) Open(f Facet) bool {
	if x.facets[f] != nil {
		return true
	}
	if f.Label != "" {
		if x.labels == MostLabels {
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
func (x *Objects[T]) CloseIdle() {
	for f, s := range x.facets {
		if used := s.used.Swap(false); !used && f.Label != "" {
			delete(x.facets, f)
			x.labels--
		}
	}
}

// File files what holds an object by one facet.
func (x *Objects[T]) File(f Facet, o *object.Object, holder T) {
	if t, ok := f.Term(o); ok {
		x.facets[f].add(t.hash(), holder)
	}
}

// Add files what holds an object by all facets.
func (x *Objects[T]) Add(o *object.Object, holder T) {
	for f := range x.facets {
		x.File(f, o, holder)
	}
}

// Remove takes out what holds an object.
func (x *Objects[T]) Remove(o *object.Object, holder T) {
	for f, s := range x.facets {
		if t, ok := f.Term(o); ok {
			s.remove(t.hash(), holder)
		}
	}
}

// Replace files by after what was filed by before.
func (x *Objects[T]) Replace(before, after *object.Object, holder T) {
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
func (x *Objects[T]) Each(t Term, f func(T)) bool {
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
