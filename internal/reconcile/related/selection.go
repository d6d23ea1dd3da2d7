package related

import (
	"slices"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// Selection selects watched objects: an object is selected if any part selects it. A nil Selection selects none.
type Selection []Part

// Part selects the objects with that name and namespace whose labels match. It is small, because parents keep many.
type Part struct {
	Namespace, Name string    // "" = any
	labels          *labelSet // nil = any
}

// SelectAll returns the selection of an entry without a template: all objects in the namespace of the parent or, if the
// parent or the kind is cluster-scoped, all objects.
func SelectAll(of Scope) Selection {
	if !of.Namespaced {
		return Selection{{}}
	}
	return Selection{{Namespace: of.Namespace}}
}

// Selects reports whether the selection contains the object.
func (s Selection) Selects(o *object.Object) bool {
	return slices.ContainsFunc(s, func(p Part) bool { return p.Selects(o) })
}

// Selects reports whether the part selects the object.
func (p Part) Selects(o *object.Object) bool {
	return watch.Term{Namespace: p.Namespace, Name: p.Name}.Matches(o) && (p.labels == nil || p.labels.match(o))
}

// Term returns a term that matches at least the objects that the part selects. It has a label only if there is no name.
func (p Part) Term() watch.Term {
	t := watch.Term{Namespace: p.Namespace, Name: p.Name}
	if p.labels != nil && p.Name == "" {
		t.Label, t.Value = p.labels.pair()
	}
	return t
}

const (
	// partSize is the approximate size of a part, with its entries in the index, without its strings.
	partSize = 96
	// labelsSize and requirementSize are the sizes of its labels without their strings.
	labelsSize, requirementSize = 48, 48
	// freeSize is added to sizeFactor times the size of the parent, see SelectionLimit.
	freeSize, sizeFactor = 16 << 10, 4
)

// SelectionLimit returns the memory limit in bytes for the selections of a parent of the given size.
func SelectionLimit(parent int) int { return freeSize + sizeFactor*parent }

// Size returns the approximate memory in bytes that the selection uses while its parent exists.
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
