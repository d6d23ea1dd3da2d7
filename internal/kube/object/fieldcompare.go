package object

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Same reports whether current has every value of content. Lists that the set
// knows item by item are compared so; others as a whole.
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
	for _, element := range content {
		below, _ := f.Item(element)
		has, ok := f.find(element, current)
		if !ok || !below.Same(element, has) {
			return false
		}
	}
	return true
}

// Holds reports whether current has every value of content, as the server shows them: it may have filled in more, also in the items of
// a list, and leaves out what is empty. Scalars are compared by equal.
func (f FieldSet) Holds(content, current any, equal func(a, b any) bool) bool {
	switch content := content.(type) {
	case map[string]any:
		there, _ := current.(map[string]any)
		for name, value := range content {
			has, ok := there[name]
			if leafless(value) || !ok && empty(value) {
				continue
			}
			if below, _ := f.Field(name); !below.Holds(value, has, equal) {
				return false
			}
		}
		return there != nil || len(content) == 0
	case []any:
		there, _ := current.([]any)
		return f.holdsList(content, there, equal)
	}
	return equal(content, current)
}

func (f FieldSet) holdsList(content, current []any, equal func(a, b any) bool) bool {
	if !f.itemized() && len(content) != len(current) {
		return false
	}
	for i, element := range content {
		if !f.itemized() {
			if !(FieldSet{}).Holds(element, current[i], equal) {
				return false
			}
			continue
		}
		below, _ := f.Item(element)
		has, ok := f.find(element, current)
		if !ok || !below.Holds(element, has, equal) {
			return false
		}
	}
	return true
}

// empty reports whether the server may leave a field with that value out: built-in kinds omit most fields that have the zero value of
// their type.
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

// SameQuantity compares JSON scalars, and takes two texts of one quantity for equal: the server may have changed 1000m into 1.
func SameQuantity(a, b any) bool {
	if sameScalar(a, b) {
		return true
	}
	x, errX := resource.ParseQuantity(fmt.Sprint(a))
	y, errY := resource.ParseQuantity(fmt.Sprint(b))
	return errX == nil && errY == nil && x.Cmp(y) == 0
}

// itemized reports whether the set knows the items of a list one by one.
func (f FieldSet) itemized() bool { return !f.whole() }

// find returns the item of list that stands for element.
func (f FieldSet) find(element any, list []any) (any, bool) {
	for k := range f {
		if !itemKey(k, element) {
			continue
		}
		if has, ok := pick(k, list); ok {
			return has, true
		}
	}
	return nil, false
}

// Exceeds reports whether the set holds a field that content does not set.
func (f FieldSet) Exceeds(content any) bool {
	for k, below := range f {
		value, ok := content, true
		if k != "." {
			value, ok = pick(k, content)
		}
		set, _ := below.(map[string]any)
		if !ok || FieldSet(set).Exceeds(value) {
			return true
		}
	}
	return false
}

// pick returns the field or list item of content that the key of a set names.
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

// Extract returns that part of current that the set holds.
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
		for _, element := range current {
			if below, ok := f.Item(element); ok {
				out = append(out, below.Extract(element))
			}
		}
		return out
	}
	return current
}

// EqualValues compares JSON data; numbers by value.
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
