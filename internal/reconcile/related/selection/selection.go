// Package selection is which of the objects of an entry of spec.related one parent sees. Pure.
package selection

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/watch/lookup"
)

// Selection says which of the watched objects a parent sees: those that any of its parts selects. A nil Selection selects none.
type Selection []Part

// Part selects the objects that its term names and whose labels match.
type Part struct {
	lookup.Term
	labels labels.Selector // nil = whatever they are; the pair of the term is among it
}

// All is the selection of what an entry without a template lets a parent see: all in its namespace, or, where the
// parent or the kind has none, all.
func All(of Scope) Selection {
	if !of.Namespaced {
		return Selection{{}}
	}
	return Selection{{Term: lookup.Term{Namespace: of.Namespace}}}
}

// Selects reports whether the selection holds the object.
func (s Selection) Selects(o *object.Object) bool {
	return slices.ContainsFunc(s, func(p Part) bool { return p.Selects(o) })
}

// Selects reports whether the part selects the object.
func (p Part) Selects(o *object.Object) bool {
	return p.Matches(o) && (p.labels == nil || p.labels.Matches(o))
}

// narrow puts a label into the term that the selector wants to have one value, so that objects are found by it.
func (p *Part) narrow() {
	if p.labels == nil || p.Name != "" {
		return
	}
	requirements, _ := p.labels.Requirements()
	for _, r := range slices.SortedFunc(slices.Values(requirements), func(a, b labels.Requirement) int { return cmp.Compare(a.Key(), b.Key()) }) {
		one := r.Operator() == selection.Equals || r.Operator() == selection.In
		if values := r.ValuesUnsorted(); one && len(values) == 1 {
			p.Label, p.Value = r.Key(), values[0]
			return
		}
	}
}
