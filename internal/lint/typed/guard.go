package typed

import (
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
)

// This file has what conditions are made of: functions whose result is known where it does not depend on objects. A branch that is
// never taken has no findings then.

// gravest is how severe a finding can be at the current place. Behind a condition that objects decide, nobody knows what else is so
// where it holds, and nothing is more than a warning.
func (c *checker) gravest() finding.Severity {
	if c.unsure > 0 || c.left {
		return finding.Warning
	}
	return finding.Error
}

// kindText is for kindOf and typeOf.
func kindText(_ *checker, call *invocation) *value.Value {
	names := value.KindNames(call.args[0], call.name.Ident == "typeOf")
	switch len(names) {
	case 0:
		return value.OfKinds(schema.String)
	case 1:
		return value.Literal(names[0])
	}
	return &value.Value{Kinds: schema.String, Type: &schema.Type{Kinds: schema.String, Enum: names}}
}

// isKind is for kindIs, typeIs and typeIsLike.
func isKind(_ *checker, call *invocation) *value.Value {
	name, written := call.text(0)
	names := value.KindNames(call.args[1], call.name.Ident != "kindIs")
	if !written || len(names) == 0 {
		return value.OfKinds(schema.Boolean)
	}
	for _, each := range names {
		switch {
		case each != name:
		case len(names) == 1:
			return value.Literal(true)
		default:
			return value.OfKinds(schema.Boolean)
		}
	}
	return value.Literal(false)
}

// textTest is for functions that compare two texts.
func textTest(compare func(s, part string) bool) func(*checker, *invocation) *value.Value {
	return func(_ *checker, call *invocation) *value.Value {
		part, known := call.text(0)
		if s, also := call.text(1); known && also {
			return value.Literal(compare(s, part))
		}
		return value.OfKinds(schema.Boolean)
	}
}

// ordered returns what lt, le, gt or ge yields of two constants.
func ordered(name string, a, b any) *value.Value {
	order, known := value.Compare(a, b)
	if !known {
		return value.OfKinds(schema.Boolean)
	}
	switch name {
	case "lt":
		return value.Literal(order < 0)
	case "le":
		return value.Literal(order <= 0)
	case "gt":
		return value.Literal(order > 0)
	}
	return value.Literal(order >= 0)
}

// length is for len.
func length(_ *checker, call *invocation) *value.Value {
	v := call.args[0]
	n := v.Size()
	if text, ok := v.Literal.(string); ok {
		n = len(text)
	}
	if v.Kinds == schema.Map && v.Keys != nil && !v.Open && !v.Sparse && v.Origin != nil && v.Origin.Source == value.FromTemplate {
		n = len(v.Keys)
	}
	if n < 0 || v.Kinds&schema.Null != 0 {
		return value.OfKinds(schema.Integer)
	}
	return value.Literal(int64(n))
}

// contained returns whether a list of constants has an item, as far as that is known.
func (c *checker) contained(v, all *value.Value) *value.Value {
	items, known := all.Data.([]any)
	if !known || v.Literal == nil || all.Kinds != schema.List {
		return value.OfKinds(schema.Boolean)
	}
	c.steps += len(items)
	for _, item := range items {
		if value.KindOf(item)&value.Scalar == 0 {
			continue
		}
		if order, known := value.Compare(v.Literal, item); known && order == 0 {
			return value.Literal(true)
		}
	}
	return value.Literal(false)
}

// constants returns a short list that is written out, with what is in it, or nil.
func constants(args []*value.Value) *value.Value {
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
	return value.OfData(items, nil)
}

// emptied is for empty: 0 and false are not.
func emptied(_ *checker, call *invocation) *value.Value {
	v := call.args[0]
	if v.Kinds == schema.Null {
		return value.Literal(true)
	}
	if v.Kinds == 0 || v.Kinds&schema.Null != 0 {
		return value.OfKinds(schema.Boolean)
	}
	switch {
	case v.Kinds&(schema.String|schema.List|schema.Map) == 0:
		return value.Literal(false)
	case v.Kinds&^(schema.String|schema.List|schema.Map) == 0 && v.Never():
		return value.Literal(true)
	case v.Kinds&^(schema.String|schema.List|schema.Map) == 0 && v.Always():
		return value.Literal(false)
	}
	return value.OfKinds(schema.Boolean)
}
