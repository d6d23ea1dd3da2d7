package typed

import (
	"cmp"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/schema"
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

// kindNames are the kinds as kindOf and typeOf tell them. A whole number may be either kind of number, whatever its schema says.
var kindNames = []struct {
	kinds        schema.Kinds
	name, goType string
}{
	{str, "string", "string"}, {boolean, "bool", "bool"}, {number, "int64", "int64"}, {number, "float64", "float64"},
	{list, "slice", "[]interface {}"}, {mapping, "map", "map[string]interface {}"},
}

// namesOf returns what kindOf or typeOf may say of a value; none = anything.
func namesOf(v *value, types bool) (names []string) {
	for _, k := range kindNames {
		_, whole := v.lit.(int64)
		_, broken := v.lit.(float64)
		if v.kinds&k.kinds == 0 || whole && k.name == "float64" || broken && k.name == "int64" {
			continue
		}
		if types {
			names = append(names, k.goType)
		} else {
			names = append(names, k.name)
		}
	}
	return names
}

// kindText is for kindOf and typeOf.
func kindText(_ *checker, call *invocation) *value {
	names := namesOf(call.args[0], call.name.Ident == "typeOf")
	switch len(names) {
	case 0:
		return ofKinds(str)
	case 1:
		return literal(names[0])
	}
	return &value{kinds: str, of: &schema.Type{Kinds: str, Enum: names}}
}

// isKind is for kindIs, typeIs and typeIsLike.
func isKind(_ *checker, call *invocation) *value {
	name, written := call.text(0)
	names := namesOf(call.args[1], call.name.Ident != "kindIs")
	if !written || len(names) == 0 {
		return ofKinds(boolean)
	}
	for _, each := range names {
		switch {
		case each != name:
		case len(names) == 1:
			return literal(true)
		default:
			return ofKinds(boolean)
		}
	}
	return literal(false)
}

// textTest is for functions that compare two texts.
func textTest(compare func(s, part string) bool) func(*checker, *invocation) *value {
	return func(_ *checker, call *invocation) *value {
		part, known := call.text(0)
		if s, also := call.text(1); known && also {
			return literal(compare(s, part))
		}
		return ofKinds(boolean)
	}
}

// compared returns how two constants of one kind are in order, or false if nobody knows.
func compared(a, b any) (order int, known bool) {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), true
		}
	case int64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, b), true
		case float64:
			return cmp.Compare(float64(a), b), true
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return cmp.Compare(a, float64(b)), true
		case float64:
			return cmp.Compare(a, b), true
		}
	case bool:
		if b, ok := b.(bool); ok && a == b {
			return 0, true
		} else if ok {
			return 1, true
		}
	}
	return 0, false
}

// ordered returns what lt, le, gt or ge yields of two constants.
func ordered(name string, a, b any) *value {
	order, known := compared(a, b)
	if !known {
		return ofKinds(boolean)
	}
	switch name {
	case "lt":
		return literal(order < 0)
	case "le":
		return literal(order <= 0)
	case "gt":
		return literal(order > 0)
	}
	return literal(order >= 0)
}

// length is for len.
func length(_ *checker, call *invocation) *value {
	v := call.args[0]
	n := -1
	switch data := v.data.(type) {
	case []any:
		n = len(data)
	case map[string]any:
		n = len(data)
	}
	if text, ok := v.lit.(string); ok {
		n = len(text)
	}
	if v.kinds == mapping && v.keys != nil && !v.open && !v.sparse && v.origin != nil && v.origin.from == fromTemplate {
		n = len(v.keys)
	}
	if n < 0 || v.kinds&null != 0 {
		return ofKinds(integer)
	}
	return literal(int64(n))
}

// contained returns whether a list of constants has an item, as far as that is known.
func (c *checker) contained(v, all *value) *value {
	items, known := all.data.([]any)
	if !known || v.lit == nil || all.kinds != list {
		return ofKinds(boolean)
	}
	c.steps += len(items)
	for _, item := range items {
		if kindOf(item)&scalar == 0 {
			continue
		}
		if order, known := compared(v.lit, item); known && order == 0 {
			return literal(true)
		}
	}
	return literal(false)
}

// constants returns a short list that is written out, with what is in it, or nil.
func constants(args []*value) *value {
	const most = 16
	if len(args) > most {
		return nil
	}
	items := make([]any, len(args))
	for i, v := range args {
		if v.lit == nil {
			return nil
		}
		items[i] = v.lit
	}
	return ofData(items, nil)
}

// emptied is for empty: 0 and false are not.
func emptied(_ *checker, call *invocation) *value {
	v := call.args[0]
	if v.kinds == null {
		return literal(true)
	}
	if v.kinds == 0 || v.kinds&null != 0 {
		return ofKinds(boolean)
	}
	switch {
	case v.kinds&(str|list|mapping) == 0:
		return literal(false)
	case v.kinds&^(str|list|mapping) == 0 && v.never():
		return literal(true)
	case v.kinds&^(str|list|mapping) == 0 && v.always():
		return literal(false)
	}
	return ofKinds(boolean)
}
