package object

import (
	"maps"
	"slices"
	"strings"
)

// Same reports whether current has all values of content. Lists whose items are owned individually are compared by item, other
// lists as a whole.
func (f FieldSet) Same(content, current any) bool {
	switch content := content.(type) {
	case map[string]any:
		there, ok := current.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range content {
			has, ok := there[name]
			below, _ := f.Field(name)
			if !ok || !below.Same(value, has) {
				return false
			}
		}
		return true
	case []any:
		there, ok := current.([]any)
		return ok && f.sameList(content, there)
	}
	return sameScalar(content, current)
}

func (f FieldSet) sameList(content, current []any) bool {
	if !f.itemized() {
		return slices.EqualFunc(content, current, EqualValues)
	}
	index := f.index(current)
	for _, element := range content {
		below, has, ok := index.find(element)
		if !ok || !below.Same(element, has) {
			return false
		}
	}
	return true
}

// Holds reports whether current, as returned by the server, has all values of content. The server may have added fields, also in
// list items, and may have omitted empty values.
func (f FieldSet) Holds(content, current any) bool { return f.holds(content, current, noQuantity) }

// HoldsQuantities is Holds for built-in kinds: quantities are compared by value, because the server may have changed 1000m to 1.
func (f FieldSet) HoldsQuantities(content, current any) bool {
	return f.holds(content, current, aboveQuantity)
}

func (f FieldSet) holds(content, current any, at quantityPlace) bool {
	switch content := content.(type) {
	case map[string]any:
		there, _ := current.(map[string]any)
		for name, value := range content {
			has, ok := there[name]
			if leafless(value) || !ok && empty(value) {
				continue
			}
			if below, _ := f.Field(name); !below.holds(value, has, at.below(name)) {
				return false
			}
		}
		return there != nil || len(content) == 0
	case []any:
		there, _ := current.([]any)
		return f.holdsList(content, there, at)
	}
	if at == inQuantity {
		return SameQuantity(content, current)
	}
	return sameScalar(content, current)
}

func (f FieldSet) holdsList(content, current []any, at quantityPlace) bool {
	if !f.itemized() {
		return slices.EqualFunc(content, current, func(element, has any) bool { return (FieldSet{}).holds(element, has, at) })
	}
	index := f.index(current)
	for _, element := range content {
		below, has, ok := index.find(element)
		if !ok || !below.holds(element, has, at) {
			return false
		}
	}
	return true
}

// empty reports whether the server may omit a field with that value: built-in kinds omit most fields with the zero value.
func empty(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, inner := range value {
			if !empty(inner) {
				return false
			}
		}
		return true
	}
	return value == nil || value == "" || value == false || sameScalar(value, int64(0))
}

// itemized reports whether the items of a list are owned individually.
func (f FieldSet) itemized() bool { return !f.whole() }

// Exceeds reports whether the set has a field that content does not set.
func (f FieldSet) Exceeds(content any) bool {
	list, isList := content.([]any)
	index := f.index(list)
	for k, below := range f {
		value, ok := content, true
		switch {
		case k == ".":
		case isList:
			value, ok = index.pick(k)
		default:
			value, ok = pick(k, content)
		}
		set, _ := below.(map[string]any)
		if !ok || FieldSet(set).Exceeds(value) {
			return true
		}
	}
	return false
}

// pick returns the field or list item of content for a key of a set.
func pick(key string, content any) (any, bool) {
	if name, ok := strings.CutPrefix(key, "f:"); ok {
		m, _ := content.(map[string]any)
		value, ok := m[name]
		return value, ok
	}
	elements, _ := content.([]any)
	for _, element := range elements {
		if itemKey(key, element) {
			return element, true
		}
	}
	return nil, false
}

// Extract returns the part of current that is in the set.
func (f FieldSet) Extract(current any) any {
	if f.whole() {
		return current
	}
	switch current := current.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range current {
			if below, ok := f.Field(name); ok {
				out[name] = below.Extract(value)
			}
		}
		return out
	case []any:
		var out []any
		index := f.index(current)
		for _, element := range current {
			if _, below, ok := index.first(element); ok {
				out = append(out, below.Extract(element))
			}
		}
		return out
	}
	return current
}

// EqualValues compares JSON data; numbers are compared by value.
func EqualValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, EqualValues)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, EqualValues)
	}
	return sameScalar(a, b)
}
