package related

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/watch/lookup"
)

// Selection says which of the watched objects a parent sees: those that any of its parts selects. A nil Selection selects none.
type Selection []part

// part selects the objects that its term names and whose labels match.
type part struct {
	lookup.Term
	labels labels.Selector // nil = whatever they are; the pair of the term is among it
}

// all is the selection of what an entry without a template lets a parent see: all in its namespace, or, where the
// parent or the kind has none, all.
func all(of scope) Selection {
	if !of.namespaced {
		return Selection{{}}
	}
	return Selection{{Term: lookup.Term{Namespace: of.namespace}}}
}

// selects reports whether the selection holds the object.
func (s Selection) selects(o *object.Object) bool {
	return slices.ContainsFunc(s, func(p part) bool { return p.selects(o) })
}

func (p part) selects(o *object.Object) bool {
	return p.Matches(o) && (p.labels == nil || p.labels.Matches(o))
}

// narrow puts a label into the term that the selector wants to have one value, so that objects are found by it.
func (p *part) narrow() {
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
