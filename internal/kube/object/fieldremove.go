package object

import (
	"maps"
	"slices"
	"strings"
)

// Remove removes from content what the set holds, and returns the path of the first of it, or "". What only says
// that a mapping is there, or that a list has a value, two may say.
func (f FieldSet) Remove(content map[string]any, at string) string {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(content)) {
		below, ok := f.Field(name)
		if !ok {
			continue
		}
		path, gone := below.removeValue(content, name)
		if path != "" && first == "" {
			first = at + path
		}
		if gone {
			delete(content, name)
		}
	}
	return first
}

// removeValue is Remove for the value under a name; gone is whether nothing of it is left.
func (f FieldSet) removeValue(content map[string]any, name string) (path string, gone bool) {
	switch value := content[name].(type) {
	case map[string]any:
		if len(f) == 0 {
			break
		}
		path = f.Remove(value, "."+name)
		return path, path != "" && len(value) == 0
	case []any:
		if len(f) == 0 {
			break
		}
		rest := f.without(value)
		if len(rest) == len(value) {
			return "", false
		}
		content[name] = rest
		return "." + name + "[]", len(rest) == 0
	}
	return "." + name, true
}

// without returns the items of a list that the set does not hold by their keys.
func (f FieldSet) without(list []any) []any {
	return slices.DeleteFunc(slices.Clone(list), f.holds)
}

// holds reports whether the set holds an item of a list by its keys.
func (f FieldSet) holds(element any) bool {
	for key := range f {
		if strings.HasPrefix(key, "k:") && itemKey(key, element) {
			return true
		}
	}
	return false
}

// WithoutEmptied returns content without the empty mappings of which the set holds fields, and whether there are any. Server-side apply
// replaces such a mapping by null, which schemas refuse: it removes the fields, then drops what is empty, and keeps the key, which is
// applied. So these fields have to be released before.
func (f FieldSet) WithoutEmptied(content map[string]any) (rest map[string]any, emptied bool) {
	rest = content
	for name, value := range content {
		inner, isMap := value.(map[string]any)
		below, _ := f.Field(name)
		if !isMap || below.whole() {
			continue
		}
		left, found := below.WithoutEmptied(inner)
		if len(inner) > 0 && !found {
			continue
		}
		if !emptied {
			rest, emptied = maps.Clone(content), true
		}
		if len(left) > 0 {
			rest[name] = left
		} else {
			delete(rest, name)
		}
	}
	return rest, emptied
}
