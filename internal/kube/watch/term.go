package watch

import (
	"hash/maphash"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Term selects objects: all fields that are set must match. The zero Term selects all objects.
type Term struct {
	Namespace    string // "" = any
	Name         string // "" = any
	Label, Value string // a label and its value; empty Label = any labels
}

// Matches reports whether the term selects the object.
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

// Facet is the set of fields that a Term sets. Objects are indexed by facet, in each index under one term.
type Facet struct {
	Namespace, Name bool
	Label           string
}

// Facet returns the facet of the term.
func (t Term) Facet() Facet {
	return Facet{Namespace: t.Namespace != "", Name: t.Name != "", Label: t.Label}
}

// Term returns the term of that facet that selects the object, or false if the object lacks the label.
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

// hash identifies the term in an index. Unlike the term, it does not keep the text of an object in memory.
func (t Term) hash() uint64 { return maphash.Comparable(seed, t) }

// TermIndex maps terms to values. It is not safe for concurrent use. The zero TermIndex is empty.
type TermIndex[T comparable] struct {
	facets map[Facet]*filed[T]
	labels int // number of facets with a label
}

// filed are the values for the terms of one facet.
type filed[T comparable] struct {
	sets[T]
	count int
}

// Add adds a value under a term. It returns the term used, which may be broader, because the number of indexed labels is limited.
// A value that was added several times under one term must be removed as often.
func (x *TermIndex[T]) Add(t Term, thing T) Term {
	f := t.Facet()
	if x.facets[f] == nil && f.Label != "" && x.labels == maxLabels {
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

// Remove removes a value that was added under the term.
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

// Each calls f for the values whose terms may select the object. It may call f several times for a value.
func (x *TermIndex[T]) Each(o *object.Object, f func(T)) {
	for facet, of := range x.facets {
		if t, ok := facet.Term(o); ok {
			of.each(t.hash(), f)
		}
	}
}
