package watch

import (
	"hash/maphash"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Term names objects: those of which everything holds that it says. The zero Term names all.
type Term struct {
	Namespace    string // "" = whatever it is
	Name         string // "" = whatever it is
	Label, Value string // a label and its value; no Label = whatever labels there are
}

// Matches reports whether the term names the object.
func (t Term) Matches(o *object.Object) bool {
	if t.Namespace != "" && t.Namespace != o.Namespace() || t.Name != "" && t.Name != o.Name() {
		return false
	}
	if t.Label == "" {
		return true
	}
	value, ok := o.Lookup(t.Label)
	return ok && value == t.Value
}

// Facet is what a Term says something about. Objects are filed by facets, each in one place.
type Facet struct {
	Namespace, Name bool
	Label           string
}

// Facet returns what the term says something about.
func (t Term) Facet() Facet {
	return Facet{Namespace: t.Namespace != "", Name: t.Name != "", Label: t.Label}
}

// Term returns the term of that facet which names the object, or false where there is none.
func (f Facet) Term(o *object.Object) (Term, bool) {
	var t Term
	if f.Namespace {
		t.Namespace = o.Namespace()
	}
	if f.Name {
		t.Name = o.Name()
	}
	if f.Label == "" {
		return t, true
	}
	value, ok := o.Lookup(f.Label)
	t.Label, t.Value = f.Label, value
	return t, ok
}

// hash stands for the term where it is filed. Unlike the term it keeps no text of an object.
func (t Term) hash() uint64 { return maphash.Comparable(seed, t) }

// TermIndex is an index of things by the terms that they are about. It is not safe for concurrent use. The zero TermIndex is empty.
type TermIndex[T comparable] struct {
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
func (x *TermIndex[T]) Add(t Term, thing T) Term {
	f := t.Facet()
	if x.facets[f] == nil && f.Label != "" && x.labels == mostLabels {
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
func (x *TermIndex[T]) Remove(t Term, thing T) {
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
func (x *TermIndex[T]) Each(o *object.Object, f func(T)) {
	for facet, of := range x.facets {
		if t, ok := facet.Term(o); ok {
			of.each(t.hash(), f)
		}
	}
}
