// Package types models the types of values in templates: their fields and items, their origin, the signatures of functions, and suggestions for
// unknown keys.
//
// The types of the branches of an if are joined. Values are immutable, except that those of spec.values cache their items, so they are not
// safe for concurrent use.
package types

import "github.com/templater-dev/templater/internal/kube/openapi"

// Value is what is known of a value at a place in a template. It is immutable. Most fields are unset for most values.
type Value struct {
	Kinds openapi.JSONTypes // possible kinds; 0 = any, and Null = always missing
	Type  *openapi.Type     // schema of its fields and items; nil = none
	// Keys are the entries of a map built by templates or spec.values; nil = unknown. Open means that there can be others.
	Keys map[string]*Value
	Open bool
	Item *Value // of a list, or of a map with unknown keys; nil = any
	// Grows means that an enclosing loop appends to the list: Item is the type so far, and nil is none.
	Grows bool
	Data  any // of spec.values, whose parts are typed on demand

	// Sparse means that required fields of a map may be missing. Variants are the alternatives, if it is one of several
	// objects.
	Sparse   bool
	Variants []*Value

	Literal any     // the constant, if it is a literal or in spec.values: a string, int64, float64 or bool
	Origin  *Origin // nil = computed
	// Optional are the optional steps of its path.
	Optional []string
	Tests    *Tests  // of a condition; nil = its own steps
	Notes    []*Note // why it is always missing
	At       Place   // of the last key of its path
}

// Outcome is what the result of a condition means: optional steps that exist, and those that can be missing.
type Outcome struct{ Has, Lacks []string }

// Tests is what the results true and false of a condition mean.
type Tests struct{ Yes, No Outcome }

// Outcomes returns what is known if the value is true, and if it is false.
func (v *Value) Outcomes() (yes, no Outcome) {
	if v.Tests != nil {
		return v.Tests.Yes, v.Tests.No
	}
	return Outcome{Has: v.Optional}, Outcome{Lacks: v.Optional}
}

// Kinds that functions treat alike.
const (
	Numeric = openapi.Integer | openapi.Number
	Scalar  = openapi.String | Numeric | openapi.Boolean
)

// The unknown value, and the value that is always missing.
var (
	Anything = &Value{}
	Missing  = &Value{Kinds: openapi.Null}
)

// OfKinds returns a value of which only the kinds are known.
func OfKinds(kinds openapi.JSONTypes) *Value { return &Value{Kinds: kinds} }

// Literal returns the value of a string literal.
func Literal(v any) *Value { return &Value{Kinds: KindOf(v), Literal: v} }

// KindOf returns the kind of plain data; 0 = not plain data.
func KindOf(v any) openapi.JSONTypes {
	switch v.(type) {
	case nil:
		return openapi.Null
	case string:
		return openapi.String
	case bool:
		return openapi.Boolean
	case int64:
		return openapi.Integer
	case float64:
		return openapi.Number
	case []any:
		return openapi.List
	case map[string]any:
		return openapi.Map
	}
	return 0
}

// OfData returns the type of a value of spec.values. Its parts are typed on demand.
func OfData(v any, o *Origin) *Value {
	known := &Value{Kinds: KindOf(v), Data: v, Origin: o}
	if known.Kinds&Scalar != 0 {
		known.Literal = v
	}
	return known
}

// OfType returns a value of a type.
func OfType(t *openapi.Type, o *Origin) *Value {
	v := &Value{Type: t, Origin: o}
	if t == nil {
		return v
	}
	if v.Kinds = t.Kinds; v.Kinds&openapi.Number != 0 {
		v.Kinds |= openapi.Integer // integers are accepted, whatever the schema calls them
	}
	return v
}

// ListOf returns a list of items of a type; nil = any.
func ListOf(item *Value) *Value { return &Value{Kinds: openapi.List, Item: item} }

// Never reports whether the value is known to be always false in an if.
func (v *Value) Never() bool {
	switch lit := v.Literal.(type) {
	case bool:
		return !lit
	case string:
		return lit == ""
	case int64:
		return lit == 0
	}
	return v.Size() == 0 || v.Kinds == openapi.Null || v.Kinds == openapi.Map && v.Keys != nil && len(v.Keys) == 0 && !v.Open
}

// Always reports whether the value is known to be always true in an if.
func (v *Value) Always() bool {
	switch lit := v.Literal.(type) {
	case bool:
		return lit
	case string:
		return lit != ""
	case int64:
		return lit != 0
	}
	return v.Kinds == openapi.Map && v.hasKeys()
}

// Size returns the number of items or keys of a list or map of spec.values if it is present, or -1 if that is unknown.
func (v *Value) Size() int {
	bare := v.Kinds &^ openapi.Null // other kinds have another size
	if data, ok := v.Data.([]any); ok && bare == openapi.List {
		return len(data)
	}
	if data, ok := v.Data.(map[string]any); ok && bare == openapi.Map {
		return len(data)
	}
	return -1
}

// hasKeys reports whether a map has at least one key.
func (v *Value) hasKeys() bool {
	if v.Sparse {
		return false
	}
	if v.Type == nil {
		return len(v.Keys) > 0 && v.Origin != nil && v.Origin.Source == FromTemplate
	}
	for _, f := range v.Type.Fields {
		if f.Present {
			return true
		}
	}
	return false
}

// May reports whether the value can be of one of the kinds.
func (v *Value) May(kinds openapi.JSONTypes) bool { return v.Kinds == 0 || v.Kinds&kinds != 0 }

// Nullable returns the type of the value or null.
func (v *Value) Nullable() *Value {
	if v.Kinds == 0 || v.Kinds&openapi.Null != 0 {
		return v
	}
	w := *v
	w.Kinds |= openapi.Null
	w.Literal = nil
	return &w
}

// Present returns the value without the possibility that it is missing.
func (v *Value) Present() *Value {
	if v.Kinds&openapi.Null == 0 && len(v.Optional) == 0 {
		return v
	}
	w := *v
	w.Optional = nil
	if w.Kinds &^= openapi.Null; w.Kinds == 0 && v.Kinds != 0 {
		return Anything // always missing, so this is not reached
	}
	return &w
}
