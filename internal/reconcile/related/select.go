package related

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Choose notes what a parent selects, and returns it. yielded is what the select template yields for the parent; it is not
// looked at where there is no template. What the parent sees has to be looked up afterwards, so that it misses no change.
func (e *Entry) Choose(parent types.NamespacedName, yielded []map[string]any) (Selection, *problem.Problem) {
	of := scope{namespace: parent.Namespace, namespaced: e.Kind.Namespaced}
	source := of.source(yielded)
	if s, known := e.Index.Known(parent, source); known {
		return s, nil
	}
	s := all(of)
	if e.Select != "" {
		var fault string
		if s, fault = compile(yielded, of); fault != "" {
			return nil, problem.Newf(v1.ReasonTemplateError, "%s: %s", syntax.SelectName(e.Name), fault)
		}
	}
	e.Index.Set(parent, source, s)
	return s, nil
}

// source is what a selection depends on, as text.
func (of scope) source(yielded []map[string]any) []byte {
	text := make([]byte, 0, 128)
	if of.namespaced {
		text = append(text, 'n')
	}
	for _, m := range yielded {
		text = object.Append(text, m)
	}
	return text
}
