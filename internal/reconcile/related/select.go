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

// mostText is how many bytes the text may have that source makes of what a select template yields for one parent: what is made of it is
// kept for as long as there is the parent.
const mostText = 32 << 10

// Choose records what a parent selects, and returns it. yielded is what the select template yields for the parent; it is
// ignored if there is no template. room is how many bytes a selection by a template may take: see SelectionLimit. The objects have to be
// looked up afterwards, so that the parent misses no change.
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
			return nil, problem.Newf(v1.ReasonTemplateError, "%s: the selection takes %d bytes of memory, but only %d are left for a parent of this size after the earlier entries: select by namespace or by label", syntax.SelectName(e.Name), n, max(0, room))
		}
	}
	if !known && !e.Index.Set(parent, from, s) {
		return nil, e.noRoom(s.Size())
	}
	return s, nil
}

// noRoom is the problem of a selection that exceeds the memory of the tenant. It is retried.
func (e *Entry) noRoom(size int) *problem.Problem {
	p := problem.Newf(v1.ReasonTemplateError, "%s: the selection takes %d bytes, more than is left of the %d KiB that all TemplateControllers of the tenant share: select by namespace or by label, delete parents, or raise GOMEMLIMIT of templater",
		syntax.SelectName(e.Name), size, e.Index.rooms.most>>10)
	p.Retry = problem.RetrySlower
	return p
}

// compile makes a selection of what the select template yields, which is that text. Without a template, it selects all.
func (e *Entry) compile(text []byte, yielded []map[string]any, of Scope) (s Selection, fault string) {
	if e.Select == "" {
		return SelectAll(of), ""
	}
	s, fault = CompileSelection(yielded, of)
	if fault == "" && len(text) > mostText {
		return nil, fmt.Sprintf("the output is %d bytes of JSON, the limit is %d: select by namespace or by label", len(text), mostText)
	}
	return s, fault
}

// source is what a selection depends on, as text.
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
