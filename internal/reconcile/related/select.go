package related

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/related/selection"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Choose notes what a parent selects, and returns it. yielded is what the select template yields for the parent; it is not
// looked at where there is no template. What the parent sees has to be looked up afterwards, so that it misses no change.
func (e *Entry) Choose(parent types.NamespacedName, yielded []map[string]any) (selection.Selection, *problem.Problem) {
	of := selection.Scope{Namespace: parent.Namespace, Namespaced: e.Kind.Namespaced}
	from := source(of, yielded)
	if s, known := e.Index.Known(parent, from); known {
		return s, nil
	}
	s := selection.All(of)
	if e.Select != "" {
		var fault string
		if s, fault = selection.Compile(yielded, of); fault != "" {
			return nil, problem.Newf(v1.ReasonTemplateError, "%s: %s", syntax.SelectName(e.Name), fault)
		}
	}
	e.Index.Set(parent, from, s)
	return s, nil
}

// source is what a selection depends on, as text.
func source(of selection.Scope, yielded []map[string]any) []byte {
	text := make([]byte, 0, 128)
	if of.Namespaced {
		text = append(text, 'n')
	}
	for _, m := range yielded {
		text = object.Append(text, m)
	}
	return text
}
