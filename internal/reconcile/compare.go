package reconcile

import "strings"

// same reports whether current has every value of content. Lists that the set
// knows item by item are compared so; others as a whole.
func (f fieldSet) same(content, current any) bool {
	switch content := content.(type) {
	case map[string]any:
		there, ok := current.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range content {
			has, ok := there[name]
			below, _ := f.in(name)
			if !ok || !below.same(value, has) {
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

func (f fieldSet) sameList(content, current []any) bool {
	if !f.itemized() {
		if len(content) != len(current) {
			return false
		}
		for i := range content {
			if !equal(content[i], current[i]) {
				return false
			}
		}
		return true
	}
	for _, element := range content {
		below, _ := f.item(element)
		has, ok := f.find(element, current)
		if !ok || !below.same(element, has) {
			return false
		}
	}
	return true
}

// itemized reports whether the set knows the items of a list one by one.
func (f fieldSet) itemized() bool { return !f.whole() }

// find returns the item of list that stands for element.
func (f fieldSet) find(element any, list []any) (any, bool) {
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

// exceeds reports whether the set holds a field that content does not set.
func (f fieldSet) exceeds(content any) bool {
	for k, below := range f {
		value, ok := content, true
		if k != "." {
			value, ok = pick(k, content)
		}
		set, _ := below.(map[string]any)
		if !ok || fieldSet(set).exceeds(value) {
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

// extract returns that part of current that the set holds.
func (f fieldSet) extract(current any) any {
	if f.whole() {
		return current
	}
	switch current := current.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range current {
			if below, ok := f.in(name); ok {
				out[name] = below.extract(value)
			}
		}
		return out
	case []any:
		var out []any
		for _, element := range current {
			if below, ok := f.item(element); ok {
				out = append(out, below.extract(element))
			}
		}
		return out
	}
	return current
}

// equal compares JSON data; numbers by value.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !equal(v, w) {
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
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return sameScalar(a, b)
}
