package types

import (
	"maps"
	"reflect"
	"slices"

	"github.com/templater-dev/templater/internal/kube/openapi"
)

// Join returns the type of a value that is one of two.
func Join(a, b *Value) *Value {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	case a.Kinds == openapi.Null && b.Kinds == openapi.Null:
		return &Value{Kinds: openapi.Null, Notes: some(a.Notes, b.Notes)}
	case a.Kinds == openapi.Null:
		return b.Nullable()
	case b.Kinds == openapi.Null:
		return a.Nullable()
	case a.Kinds == 0 || b.Kinds == 0:
		return Anything
	case a.isEmpty(b):
		return b.orEmpty()
	case b.isEmpty(a):
		return a.orEmpty()
	}
	if a.Grows && b.Grows {
		return &Value{Kinds: openapi.List, Item: Join(a.Item, b.Item), Grows: true}
	}
	v := &Value{Kinds: a.Kinds | b.Kinds, Sparse: a.Sparse || b.Sparse, Optional: some(a.Optional, b.Optional)}
	if a.Literal == b.Literal {
		v.Literal = a.Literal
	}
	switch {
	case a.Kinds&(openapi.List|openapi.Map) == 0:
		v.Type, v.Keys, v.Open, v.Item, v.Data, v.Origin = b.Type, b.Keys, b.Open, b.Item, b.Data, b.Origin
	case b.Kinds&(openapi.List|openapi.Map) == 0:
		v.Type, v.Keys, v.Open, v.Item, v.Data, v.Origin = a.Type, a.Keys, a.Open, a.Item, a.Data, a.Origin
	case a.Type != nil && a.Type == b.Type:
		v.Type, v.Origin = a.Type, a.Origin
	case a.Kinds&openapi.Map == 0 && b.Kinds&openapi.Map == 0:
		v.Item = Join(a.Each(), b.Each())
	default:
		v.Open = true // an unknown map
	}
	return v
}

// some returns what is in both, but not more than anybody reads.
func some[T any](a, b []T) []T {
	const most = 16
	all := slices.Concat(a, b)
	return all[:min(len(all), most)]
}

// isEmpty reports whether it is an empty list or map literal.
func (v *Value) isEmpty(other *Value) bool {
	return v.Kinds&(openapi.List|openapi.Map) != 0 && other.Kinds&^openapi.Null == v.Kinds && v.Never()
}

// orEmpty returns the type of the value or an empty list or map.
func (v *Value) orEmpty() *Value {
	w := *v
	w.Sparse, w.Data, w.Literal = true, nil, nil
	if v.Data != nil && v.Kinds&openapi.List != 0 {
		w.Item = v.Each()
	}
	if v.Data != nil && v.Kinds&openapi.Map != 0 {
		w.Open = true
	}
	return &w
}

// joinData joins items of spec.values. The map of a list has the keys of all items.
func joinData(a, b *Value) *Value {
	if a == nil {
		return b
	}
	m, ok1 := a.Data.(map[string]any)
	n, ok2 := b.Data.(map[string]any)
	if !ok1 || !ok2 {
		v := Join(a, b)
		if v.Kinds&(openapi.List|openapi.Map) != 0 {
			return OfKinds(v.Kinds)
		}
		return v
	}
	keys := map[string]*Value{}
	for _, each := range []map[string]any{m, n} {
		for key := range each {
			keys[key] = Anything
		}
	}
	return &Value{Kinds: openapi.Map, Keys: keys, Origin: a.Origin}
}

// Same reports whether two values are cheaply known to be the same.
func (v *Value) Same(w *Value, depth int) bool {
	if v == w {
		return true
	}
	if v == nil || w == nil || v.Kinds != w.Kinds || v.Type != w.Type || v.Literal != w.Literal || len(v.Keys) != len(w.Keys) || (v.Data == nil) != (w.Data == nil) || v.Open != w.Open || v.Sparse != w.Sparse || v.Grows != w.Grows || len(v.Variants) != len(w.Variants) {
		return false
	}
	if v.Origin == nil && w.Origin == nil && !reflect.DeepEqual(v.Data, w.Data) {
		return false
	}
	if v.Origin != w.Origin && (v.Origin == nil || w.Origin == nil || v.Origin.Step() != w.Origin.Step()) {
		return false
	}
	if depth == 0 {
		return v.Keys == nil && v.Item == nil && w.Item == nil
	}
	return v.Item.Same(w.Item, depth-1) && maps.EqualFunc(v.Keys, w.Keys, func(a, b *Value) bool { return a.Same(b, depth-1) })
}
