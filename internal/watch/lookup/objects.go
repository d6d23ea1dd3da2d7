package lookup

import "github.com/templater-dev/templater/internal/object"

// MostLabels is how many labels an index finds things by. What asks for more is found by the rest of its term.
const MostLabels = 16

// Objects is an index of objects by the facets that were asked for. T is what holds an object. It is not safe for concurrent use.
type Objects[T comparable] struct {
	facets map[Facet]*sets[T]
	labels int // how many facets are about a label
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
		x.facets = map[Facet]*sets[T]{}
	}
	x.facets[f] = newSets[T]()
	return true
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

// Each calls f for what holds the objects that the term may name; two terms may have one hash. Its facet must be open.
func (x *Objects[T]) Each(t Term, f func(T)) { x.facets[t.Facet()].each(t.hash(), f) }
