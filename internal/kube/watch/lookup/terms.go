package lookup

import "github.com/templater-dev/templater/internal/kube/object"

// Terms is an index of things by the terms that they are about. It is not safe for concurrent use. The zero Terms is empty.
type Terms[T comparable] struct {
	facets map[Facet]*filed[T]
	labels int // how many facets are about a label
}

// filed are the things under the terms of one facet.
type filed[T comparable] struct {
	sets[T]
	count int
}

// Add files a thing and returns the term that it is filed under, which names at least the same objects: there
// is room for so many labels. A thing that is filed twice under one term has to be removed as often.
func (x *Terms[T]) Add(t Term, thing T) Term {
	f := t.Facet()
	if x.facets[f] == nil && f.Label != "" && x.labels == MostLabels {
		t.Label, t.Value = "", ""
		f = t.Facet()
	}
	of := x.facets[f]
	if of == nil {
		of = &filed[T]{sets: *newSets[T]()}
		if x.facets == nil {
			x.facets = map[Facet]*filed[T]{}
		}
		x.facets[f] = of
		if f.Label != "" {
			x.labels++
		}
	}
	of.add(t.hash(), thing)
	of.count++
	return t
}

// Remove takes a thing out that is filed under the term.
func (x *Terms[T]) Remove(t Term, thing T) {
	f := t.Facet()
	of := x.facets[f]
	if of == nil {
		return
	}
	of.remove(t.hash(), thing)
	if of.count--; of.count > 0 {
		return
	}
	delete(x.facets, f)
	if f.Label != "" {
		x.labels--
	}
}

// Each calls f for the things whose terms may name the object, for some of them more than once.
func (x *Terms[T]) Each(o *object.Object, f func(T)) {
	for facet, of := range x.facets {
		if t, ok := facet.Term(o); ok {
			of.each(t.hash(), f)
		}
	}
}
