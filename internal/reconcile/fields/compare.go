package fields

import "strings"

// Same reports whether current has every value of content. Lists that the set
// knows item by item are compared so; others as a whole.
func (f Set) Same(content, current any) bool {
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

func (f Set) sameList(content, current []any) bool {
	if !f.itemized() {
		if len(content) != len(current) {
			return false
		}
		for i := range content {
			if !Equal(content[i], current[i]) {
				return false
			}
		}
		return true
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

// itemized reports whether the set knows the items of a list one by one.
func (f Set) itemized() bool { return !f.whole() }

// find returns the item of list that stands for element.
func (f Set) find(element any, list []any) (any, bool) {
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
func (f Set) Exceeds(content any) bool {
	for k, below := range f {
		value, ok := content, true
		if k != "." {
			value, ok = pick(k, content)
		}
		set, _ := below.(map[string]any)
		if !ok || Set(set).Exceeds(value) {
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
func (f Set) Extract(current any) any {
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

// Equal compares JSON data; numbers by value.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return sameScalar(a, b)
}
