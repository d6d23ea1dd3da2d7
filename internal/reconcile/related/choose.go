package related

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// maxText limits the output of a select template for one parent, in bytes of the text that source returns: the
// resulting selection is kept while the parent exists.
const maxText = 32 << 10

// Choose computes and stores the selection of a parent. yielded is the output of the select template for the parent; it
// is ignored if there is no template. room is the maximum size in bytes of a selection by a template: see
// SelectionLimit. The objects must be read afterwards, so that the parent misses no change.
func (e *Entry) Choose(parent types.NamespacedName, yielded []map[string]any, room int) (Selection, *problem.Problem) {
	of := Scope{Namespace: parent.Namespace, Namespaced: e.Kind.Namespaced}
	text := source(of, yielded)
	from := sha256.Sum256(text)
	s, known := e.Index.Known(parent, from)
	if !known {
		var fault string
		if s, fault = e.compile(text, yielded, of); fault != "" {
			return nil, problem.Newf(v1.ReasonTemplateError, "%s: %s", syntax.SelectName(e.Name), fault)
		}
	}
	if e.Select != "" {
		if n := s.Size(); n > room {
			return nil, problem.Newf(v1.ReasonTemplateError, "%s: the selection needs %d bytes of memory, but only %d bytes are left of the limit for this parent (earlier spec.related entries count): select by namespace or by label", syntax.SelectName(e.Name), n, max(0, room))
		}
	}
	if !known && !e.Index.Set(parent, from, s) {
		return nil, e.noRoom(s.Size())
	}
	return s, nil
}

// noRoom returns the problem of a selection that exceeds the memory of the tenant. It is retried.
func (e *Entry) noRoom(size int) *problem.Problem {
	p := problem.Newf(v1.ReasonTemplateError, "%s: the selection takes %d bytes, more than is left of the %d KiB that all TemplateControllers of the tenant share: select by namespace or by label, delete parents, or raise GOMEMLIMIT of templater",
		syntax.SelectName(e.Name), size, e.Index.rooms.most>>10)
	p.Retry = problem.RetrySlower
	return p
}

// compile makes a selection from the output of the select template, and text, its source. Without a template, it
// selects all objects.
func (e *Entry) compile(text []byte, yielded []map[string]any, of Scope) (s Selection, fault string) {
	if e.Select == "" {
		return SelectAll(of), ""
	}
	s, fault = CompileSelection(yielded, of)
	if fault == "" && len(text) > maxText {
		return nil, fmt.Sprintf("the output is %d bytes of JSON; the limit is %d: select by namespace or by label", len(text), maxText)
	}
	return s, fault
}

// source returns the input of a selection as text.
func source(of Scope, yielded []map[string]any) []byte {
	text := make([]byte, 0, 128)
	if of.Namespaced {
		text = append(text, 'n')
	}
	for _, m := range yielded {
		text = object.Append(text, m)
	}
	return text
}
