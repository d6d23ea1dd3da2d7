package related

import (
	"slices"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// Selection says which of the watched objects a parent sees: those that any of its parts selects. A nil Selection selects none.
type Selection []Part

// Part selects the objects of that name and namespace whose labels match. It is small, for parents keep many.
type Part struct {
	Namespace, Name string    // "" = whatever it is
	labels          *labelSet // nil = whatever they are
}

// SelectAll is the selection of what an entry without a template lets a parent see: all in its namespace, or, where the
// parent or the kind has none, all.
func SelectAll(of Scope) Selection {
	if !of.Namespaced {
		return Selection{{}}
	}
	return Selection{{Namespace: of.Namespace}}
}

// Selects reports whether the selection holds the object.
func (s Selection) Selects(o *object.Object) bool {
	return slices.ContainsFunc(s, func(p Part) bool { return p.Selects(o) })
}

// Selects reports whether the part selects the object.
func (p Part) Selects(o *object.Object) bool {
	return watch.Term{Namespace: p.Namespace, Name: p.Name}.Matches(o) && (p.labels == nil || p.labels.match(o))
}

// Term names at least the objects that the part selects, so that they are found. It has a label where there is no name.
func (p Part) Term() watch.Term {
	t := watch.Term{Namespace: p.Namespace, Name: p.Name}
	if p.labels != nil && p.Name == "" {
		t.Label, t.Value = p.labels.pair()
	}
	return t
}

const (
	// partSize is about what a part takes, with the places where it is filed, besides its texts.
	partSize = 96
	// labelsSize and requirementSize are what its labels take besides their texts.
	labelsSize, requirementSize = 48, 48
	// freeSize is what the selections of a parent may take besides sizeFactor times what the parent itself takes.
	freeSize, sizeFactor = 16 << 10, 4
)

// SelectionLimit returns how many bytes the selections of a parent may take that has so many itself.
func SelectionLimit(parent int) int { return freeSize + sizeFactor*parent }

// Size returns about how many bytes the selection takes for as long as there is its parent.
func (s Selection) Size() int {
	n := 0
	for _, p := range s {
		n += partSize + len(p.Name) + len(p.Namespace)
		if p.labels != nil {
			n += p.labels.size()
		}
	}
	return n
}
