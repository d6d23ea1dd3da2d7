package types

import (
	"maps"
	"reflect"
	"slices"

	"github.com/templater-dev/templater/internal/kube/openapi"
)

// Lookup returns the type of a key of a map, or false if the map cannot have it.
func (v *Value) Lookup(key string) (found *Value, known bool) {
	switch {
	case v.Data != nil:
		m, _ := v.Data.(map[string]any)
		entry, there := m[key]
		return OfData(entry, v.Origin.below(key, nil)), there
	case v.Keys != nil:
		if w, there := v.Keys[key]; there {
			return w, true
		}
		return Anything, v.Open
	case v.Type == nil && v.Item != nil:
		return v.Item.Nullable(), true
	case v.Type == nil:
		return Anything, true
	}
	return v.ofSchema(key)
}

// Reached returns the result of Lookup for a key that is written at a place: it is missing if the map is missing.
func (v *Value) Reached(found *Value, at Place) *Value {
	w := *found
	w.At = at
	if v.May(openapi.Null) || v.Sparse {
		w = *w.Nullable()
	}
	if o := w.Origin; o != nil && o.Source == FromSchema {
		w.Optional = some(v.Optional, w.Optional)
	}
	return &w
}

// ofSchema returns the type of a key according to the schema.
func (v *Value) ofSchema(key string) (found *Value, known bool) {
	t := v.Type
	f, there := t.Fields[key]
	switch {
	case there:
		if v.Origin.Hides(key) {
			return nil, false
		}
		o := v.Origin.below(key, f.Type)
		w := OfType(f.Type, o)
		switch {
		case f.Present || o.isThere():
			return w, true
		case o != nil && o.Path == ".status":
			return w.Nullable(), true // which is told of its fields
		}
		w = w.Nullable()
		w.Optional = []string{o.Step()}
		return w, true
	case t.Fields == nil:
		w := OfType(t.Items, v.Origin.below(key, t.Items)).Nullable()
		if t.Items != nil {
			w.Optional = []string{w.Origin.Step()}
		}
		return w, true
	}
	return Anything, t.Open
}

// Each returns the type of the items of a list or map, as range and first see them.
func (v *Value) Each() *Value {
	if v.Grows {
		return Anything // another iteration may have appended another type
	}
	switch data := v.Data.(type) {
	case []any:
		return v.Origin.remember(data, func() []any { return data })
	case map[string]any:
		return v.Origin.remember(data, func() []any { return slices.Collect(maps.Values(data)) })
	}
	switch {
	case v.Type != nil && v.Kinds&openapi.List != 0:
		return OfType(v.Type.Items, v.Origin.item(v.Type.Items))
	case v.Type != nil && v.Type.Fields == nil && v.Type.Items != nil:
		return OfType(v.Type.Items, v.Origin.item(v.Type.Items))
	case v.Item != nil:
		return v.Item
	}
	return Anything
}

// remember returns the type of the items of a list or map of spec.values, and caches it.
func (o *Origin) remember(data any, all func() []any) *Value {
	if o == nil || o.Items == nil {
		return itemsOf(all(), o)
	}
	at := reflect.ValueOf(data).Pointer()
	v := o.Items[at]
	if v == nil {
		v = itemsOf(all(), o)
		o.Items[at] = v
	}
	return v
}

// itemsOf returns the joined type of all items.
func itemsOf(all []any, o *Origin) *Value {
	const most = 100
	if len(all) == 0 || len(all) > most {
		return Anything
	}
	var v *Value
	for _, item := range all {
		w := OfData(item, nil)
		if o != nil {
			w.Origin = o.item(nil)
		}
		w.Literal = nil
		v = joinData(v, w)
	}
	return v
}

// RangeValue returns the type of dot in a range.
func (v *Value) RangeValue() *Value {
	switch {
	case v.Kinds != 0 && v.Kinds&(openapi.List|openapi.Map) == 0:
		return OfKinds(openapi.Integer)
	case v.Kinds&openapi.Integer != 0:
		return Anything
	case v.Keys != nil && !v.Open:
		var all *Value
		for _, w := range v.Keys {
			all = Join(all, w)
		}
		if all != nil {
			return all
		}
	case v.Keys != nil || v.Type != nil && v.Type.Fields != nil && v.Kinds&openapi.List == 0:
		return Anything
	}
	return v.Each()
}

// RangeKey returns the type of the first of two range variables.
func (v *Value) RangeKey() *Value {
	if v.Kinds&^openapi.Null == openapi.List {
		return OfKinds(openapi.Integer)
	}
	if v.Kinds&^openapi.Null == openapi.Map {
		return OfKinds(openapi.String)
	}
	return Anything
}
