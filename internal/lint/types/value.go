// Package types has the types of values in templates: their fields and items, their origin, the signatures of functions, and suggestions for
// unknown keys.
//
// The types of the branches of an if are joined. Values are immutable, except that those of spec.values cache their items, so they belong to one
// goroutine.
package types

import "github.com/templater-dev/templater/internal/kube/openapi"

// Value is what is known of a value at a place in a template. It does not change. It has many fields, as little is known of most values, and
// what is comes in many forms.
type Value struct {
	Kinds openapi.Kinds // what it may be; 0 = anything, and Null = it is always missing
	Type  *openapi.Type // where its fields and items are told; nil = not by a schema
	// Keys are the entries of a map that templates or spec.values make; nil where nobody knows. Open says that there may be more.
	Keys map[string]*Value
	Open bool
	Item *Value // of a list, or of a map whose keys are not known; nil = anything
	// Grows says that a loop around appends to the list: Item is what is known of by now, and nil is nothing.
	Grows bool
	Data  any // of spec.values, whose parts are looked at when asked for

	// Sparse says that a map may lack what its type says is there. Variants are what it may be, if it is one of several
	// objects.
	Sparse   bool
	Variants []*Value

	Literal any     // what it is, if it is written out or in spec.values: a string, int64, float64 or bool
	Origin  *Origin // where it is from; nil = it is computed
	// Optional are the steps on the way to it that objects may lack.
	Optional []string
	Notes    []*Note // why it is always missing
	At       Place   // of the last key on the way to it
}

// Kinds that functions take alike.
const (
	Numeric = openapi.Integer | openapi.Number
	Scalar  = openapi.String | Numeric | openapi.Boolean
)

// The values of which nothing is known, and which are never there.
var (
	Anything = &Value{}
	Missing  = &Value{Kinds: openapi.Null}
)

// OfKinds returns a value of which no more is known.
func OfKinds(kinds openapi.Kinds) *Value { return &Value{Kinds: kinds} }

// Literal returns the value that a text of the author is.
func Literal(v any) *Value { return &Value{Kinds: KindOf(v), Literal: v} }

// KindOf returns the kind of plain data; 0 = it is none.
func KindOf(v any) openapi.Kinds {
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

// OfData returns what a value of spec.values is. Its parts are looked at later.
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
		v.Kinds |= openapi.Integer // a whole number is one, whatever its schema calls it
	}
	return v
}

// ListOf returns a list, of which each item is one; nil = anything.
func ListOf(item *Value) *Value { return &Value{Kinds: openapi.List, Item: item} }

// Never reports whether if never takes it for true, as far as that is known.
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

// Always reports whether if always takes it for true, as far as that is known.
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

// Size returns how many items or keys a list or a map of spec.values has where it is there, or -1 if nobody knows.
func (v *Value) Size() int {
	bare := v.Kinds &^ openapi.Null // what else it may be has another size
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

// May reports whether it may be one of the kinds.
func (v *Value) May(kinds openapi.Kinds) bool { return v.Kinds == 0 || v.Kinds&kinds != 0 }

// Nullable returns the value, or nothing.
func (v *Value) Nullable() *Value {
	if v.Kinds == 0 || v.Kinds&openapi.Null != 0 {
		return v
	}
	w := *v
	w.Kinds |= openapi.Null
	w.Literal = nil
	return &w
}

// Present returns the value where it is there.
func (v *Value) Present() *Value {
	if v.Kinds&openapi.Null == 0 && len(v.Optional) == 0 {
		return v
	}
	w := *v
	w.Optional = nil
	if w.Kinds &^= openapi.Null; w.Kinds == 0 && v.Kinds != 0 {
		return Anything // it is never there, so nobody gets here
	}
	return &w
}
