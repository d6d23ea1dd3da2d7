package typed

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// filter looks through the expression that tells which objects are parents. Nothing counts as false.
func (w *walker) filter(u *syntax.Unit, root *types.Value) {
	w.enter(u, root)
	pipe := u.Expression()
	if v := w.pipe(pipe, root); v.Kinds != openapi.Null && !v.May(openapi.Boolean) {
		w.errorf(finding.NotBoolean, w.at(pipe), "%s is %s, but must be true or false; compare it, as in eq .spec.class \"a\"", syntax.Excerpt(pipe), (v.Kinds &^ openapi.Null).Words())
	}
}

// readyWhen looks through an expression, which is to yield true or false.
func (w *walker) readyWhen(u *syntax.Unit, root *types.Value) {
	w.enter(u, root)
	pipe := u.Expression()
	v := w.pipe(pipe, root)
	switch {
	case v.Kinds == openapi.Null:
		w.lacks(v, pipe)
	case !v.May(openapi.Boolean):
		w.errorf(finding.NotBoolean, w.at(pipe), "%s is %s, but must be true or false; compare it, as in eq .object.status.phase \"Bound\"", syntax.Excerpt(pipe), (v.Kinds &^ openapi.Null).Words())
	default:
		w.ofOthers(pipe)
	}
}

// ofOthers notes a readyWhen that reads something, but not the object that it judges.
func (w *walker) ofOthers(pipe *parse.PipeNode) {
	var first *parse.FieldNode // of the parent
	whole := false             // the object is read, or all there is
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
	const text = "does not read .object, so it returns the same for all objects of this entry"
	switch first.Ident[0] {
	case "status", "metadata", "spec":
		n := w.warnf(finding.ReadyOfOthers, w.at(first), "%s belongs to the parent, and readyWhen "+text+"; did you mean .object%s?", first, first)
		n.Replacement = ".object" + first.String()
	default:
		w.warnf(finding.ReadyOfOthers, w.at(pipe), "readyWhen "+text)
	}
}
