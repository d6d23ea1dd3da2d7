package typed

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// filter checks the expression of watch.filter. A missing result counts as false.
func (w *walker) filter(u *syntax.Unit, root *types.Value) {
	w.enter(u, root)
	pipe := u.Expression()
	if v := w.pipe(pipe, root); v.Kinds != openapi.Null && !v.May(openapi.Boolean) {
		w.errorf(finding.NotBoolean, w.at(pipe), "%s is %s, but must be a boolean; compare it, as in eq .spec.class \"a\"", syntax.Excerpt(pipe), (v.Kinds &^ openapi.Null).Words())
	}
}

// readyWhen checks a readyWhen expression, whose result must be a boolean.
func (w *walker) readyWhen(u *syntax.Unit, root *types.Value) {
	w.enter(u, root)
	pipe := u.Expression()
	v := w.pipe(pipe, root)
	switch {
	case v.Kinds == openapi.Null:
		w.lacks(v, pipe)
	case !v.May(openapi.Boolean):
		w.errorf(finding.NotBoolean, w.at(pipe), "%s is %s, but must be a boolean; compare it, as in eq .object.status.phase \"Bound\"", syntax.Excerpt(pipe), (v.Kinds &^ openapi.Null).Words())
	default:
		w.ofOthers(pipe)
	}
}

// ofOthers reports a readyWhen expression that reads data, but not the object that it evaluates.
func (w *walker) ofOthers(pipe *parse.PipeNode) {
	var first *parse.FieldNode // field of the parent
	whole := false             // the object is read, or all data
	syntax.EachOperand(pipe, func(n parse.Node) {
		switch n := n.(type) {
		case *parse.FieldNode:
			whole = whole || n.Ident[0] == "object"
			if first == nil {
				first = n
			}
		case *parse.DotNode, *parse.VariableNode, *parse.ChainNode:
			whole = true
		}
	})
	if whole || first == nil {
		return
	}
	const text = "does not read .object, so it returns the same for all objects of this child template"
	switch first.Ident[0] {
	case "status", "metadata", "spec":
		n := w.warnf(finding.ReadyOfOthers, w.at(first), "%s belongs to the parent, and readyWhen "+text+"; did you mean .object%s?", first, first)
		n.Replacement = ".object" + first.String()
	default:
		w.warnf(finding.ReadyOfOthers, w.at(pipe), "readyWhen "+text)
	}
}
