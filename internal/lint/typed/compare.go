package typed

import (
	"cmp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// equal is the result of eq: whether the first argument equals any of the others.
func equal(e *evaluator, call *invocation) *types.Value {
	answer := types.Literal(false)
	for i := 1; i < len(call.args); i++ {
		switch w := e.equals(call, 0, i); {
		case w.Literal == nil:
			answer = w
		case w.Literal == true && answer.Literal == false:
			return w
		}
	}
	return answer
}

func unequal(e *evaluator, call *invocation) *types.Value {
	v := e.equals(call, 0, 1)
	if same, known := v.Literal.(bool); known {
		return types.Literal(!same)
	}
	return negated(types.OfKinds(v.Kinds), v)
}

// equals returns whether two arguments of eq or ne are equal.
func (e *evaluator) equals(call *invocation, i, j int) *types.Value {
	v, w := call.args[i], call.args[j]
	e.compares(v)
	e.compares(w)
	a, b := v.Kinds.Classes(), w.Kinds.Classes()
	sure := v.Kinds&openapi.Null == 0 && w.Kinds&openapi.Null == 0
	switch {
	case v.Kinds == 0 || w.Kinds == 0:
		return types.OfKinds(openapi.Boolean)
	case a == 0 && b == 0:
		return types.Literal(true)
	case a == 0 && w.Kinds&openapi.Null == 0, b == 0 && v.Kinds&openapi.Null == 0:
		return types.Literal(false)
	case a == 0 || b == 0:
		return types.OfKinds(openapi.Boolean)
	case a&types.Scalar == 0 || b&types.Scalar == 0:
		e.maybe(sure, finding.Argument, e.at(call.name), "%s: cannot compare lists and maps; use deepEqual", call.name.Ident)
	case a&b == 0:
		e.maybe(sure, finding.Argument, e.at(call.name), "%s: cannot compare %s with %s; convert one of them with int, float64 or toString", call.name.Ident, a.Words(), b.Words())
	case v.Literal != nil && w.Literal != nil:
		order, known := types.Compare(v.Literal, w.Literal)
		return types.Literal(known && order == 0)
	case e.outOfEnum(call, v, w, j) || e.outOfEnum(call, w, v, i):
		return types.Literal(false)
	}
	result := types.OfKinds(openapi.Boolean)
	if sure := call.args[0].Literal != nil || call.args[1].Literal != nil; sure && len(call.args) == 2 { // nothing that is missing equals it
		steps := slices.Concat(v.Optional, w.Optional)
		result.Tests = &types.Tests{Yes: types.Outcome{Has: steps}}
	}
	return result
}

// outOfEnum reports that argument i, a string literal, is not a value of the enum of a field.
func (e *evaluator) outOfEnum(call *invocation, v, w *types.Value, i int) bool {
	text, written := w.Literal.(string)
	if !written || v.Type == nil || len(v.Type.Enum) == 0 || v.Literal != nil || slices.Contains(v.Type.Enum, text) {
		return false
	}
	if v.Origin == nil {
		return true // it is computed, for example by kindOf, and another caller of a helper can pass another value
	}
	at, nearest := e.at(call.node(i)), e.notes.Nearest(text, slices.Clone(v.Type.Enum))
	if n, ok := call.node(i).(*parse.StringNode); ok && text != "" {
		at = e.inString(n, text)
	}
	hint := cmp.Or(syntax.DidYouMean(nearest), "; valid values are "+strings.Join(v.Type.Enum[:min(len(v.Type.Enum), 12)], ", "))
	n := e.warnf(finding.NeverTrue, at, "%s is never %q%s", v.Origin.Words(), text, hint)
	n.Replacement = nearest
	return true
}

// order is for lt, le, gt and ge.
func order(e *evaluator, call *invocation) *types.Value {
	v, w := call.args[0], call.args[1]
	e.compares(v)
	e.compares(w)
	a, b := v.Kinds.Classes(), w.Kinds.Classes()
	if a != 0 && b != 0 && v.Kinds != 0 && w.Kinds != 0 && a&b == 0 {
		e.errorf(finding.Argument, e.at(call.name), "%s: cannot order %s and %s; convert one of them with int, float64 or toString", call.name.Ident, a.Words(), b.Words())
	}
	return ordered(call.name.Ident, v.Literal, w.Literal)
}

// alike is for functions that treat values of different kinds as unequal.
func alike(e *evaluator, call *invocation) *types.Value {
	v, w := call.args[0], call.args[1]
	if call.name.Ident == "deepEqual" {
		e.neverEqual(call, w, v, 0)
		return types.OfKinds(openapi.Boolean)
	}
	if w.Kinds == openapi.Null {
		return types.Literal(false)
	}
	e.neverEqual(call, w.Each(), v, 0)
	return contained(e, v, w)
}

// neverEqual reports that a value never equals argument i.
func (e *evaluator) neverEqual(call *invocation, v, w *types.Value, i int) {
	a, b := v.Kinds.Classes(), w.Kinds.Classes()
	if v.Kinds == 0 || w.Kinds == 0 || a == 0 || b == 0 {
		return
	}
	if a&b == 0 {
		e.warnf(finding.NeverTrue, e.at(call.node(i)), "%s: %s is never %s", call.name.Ident, a.Words(), b.Words())
		return
	}
	e.outOfEnum(call, v, w, i)
}
