package lookup

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

var seed = maphash.MakeSeed()

// hash stands for the term where it is filed. Unlike the term it keeps no text of an object.
func (t Term) hash() uint64 { return maphash.Comparable(seed, t) }
