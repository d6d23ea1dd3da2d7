package typed

import (
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
)

// This file has the functions of conditions: their result is known if it does not depend on objects. A branch that is
// never taken has no findings.

// kindText is for kindOf and typeOf.
func kindText(_ *evaluator, call *invocation) *types.Value {
	names := types.KindNames(call.args[0], call.name.Ident == "typeOf")
	switch len(names) {
	case 0:
		return types.OfKinds(openapi.String)
	case 1:
		return types.Literal(names[0])
	}
	return &types.Value{Kinds: openapi.String, Type: &openapi.Type{Kinds: openapi.String, Enum: names}}
}

// isKind is for kindIs, typeIs and typeIsLike.
func isKind(_ *evaluator, call *invocation) *types.Value {
	name, written := call.text(0)
	names := types.KindNames(call.args[1], call.name.Ident != "kindIs")
	if !written || len(names) == 0 {
		return types.OfKinds(openapi.Boolean)
	}
	for _, each := range names {
		switch {
		case each != name:
		case len(names) == 1:
			return types.Literal(true)
		default:
			return types.OfKinds(openapi.Boolean)
		}
	}
	return types.Literal(false)
}

// textTest is for functions that compare two texts.
func textTest(compare func(s, part string) bool) func(*evaluator, *invocation) *types.Value {
	return func(_ *evaluator, call *invocation) *types.Value {
		part, known := call.text(0)
		if s, also := call.text(1); known && also {
			return types.Literal(compare(s, part))
		}
		return types.OfKinds(openapi.Boolean)
	}
}

// ordered returns the result of lt, le, gt or ge for two constants.
func ordered(name string, a, b any) *types.Value {
	order, known := types.Compare(a, b)
	if !known {
		return types.OfKinds(openapi.Boolean)
	}
	switch name {
	case "lt":
		return types.Literal(order < 0)
	case "le":
		return types.Literal(order <= 0)
	case "gt":
		return types.Literal(order > 0)
	}
	return types.Literal(order >= 0)
}

// length is for len.
func length(_ *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	n := v.Size()
	if text, ok := v.Literal.(string); ok {
		n = len(text)
	}
	if v.Kinds == openapi.Map && v.Keys != nil && !v.Open && !v.Sparse && v.Origin != nil && v.Origin.Source == types.FromTemplate {
		n = len(v.Keys)
	}
	if n < 0 || v.Kinds&openapi.Null != 0 {
		return types.OfKinds(openapi.Integer)
	}
	return types.Literal(int64(n))
}

// contained returns whether a list of constants contains an item, if that is known.
func contained(e *evaluator, v, all *types.Value) *types.Value {
	items, known := all.Data.([]any)
	if !known || v.Literal == nil || all.Kinds != openapi.List {
		return types.OfKinds(openapi.Boolean)
	}
	e.notes.Steps += len(items)
	for _, item := range items {
		if types.KindOf(item)&types.Scalar == 0 {
			continue
		}
		if order, known := types.Compare(v.Literal, item); known && order == 0 {
			return types.Literal(true)
		}
	}
	return types.Literal(false)
}

// constants returns the items of a short literal list, or nil.
func constants(args []*types.Value) *types.Value {
	const most = 16
	if len(args) > most {
		return nil
	}
	items := make([]any, len(args))
	for i, v := range args {
		if v.Literal == nil {
			return nil
		}
		items[i] = v.Literal
	}
	return types.OfData(items, nil)
}

// emptied is for the function empty: 0 and false are not empty.
func emptied(_ *evaluator, call *invocation) *types.Value {
	v := call.args[0]
	if v.Kinds == openapi.Null {
		return types.Literal(true)
	}
	if v.Kinds == 0 || v.Kinds&openapi.Null != 0 {
		return negated(types.OfKinds(openapi.Boolean), v)
	}
	switch {
	case v.Kinds&(openapi.String|openapi.List|openapi.Map) == 0:
		return types.Literal(false)
	case v.Kinds&^(openapi.String|openapi.List|openapi.Map) == 0 && v.Never():
		return types.Literal(true)
	case v.Kinds&^(openapi.String|openapi.List|openapi.Map) == 0 && v.Always():
		return types.Literal(false)
	}
	return negated(types.OfKinds(openapi.Boolean), v)
}
