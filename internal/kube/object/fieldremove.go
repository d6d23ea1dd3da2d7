package object

import (
	"maps"
	"slices"
	"strings"
)

// Remove removes the fields in the set from content, and returns the path of the first removed field, prefixed with at, or "". It
// keeps a mapping if the set has only the mapping itself, and items that the set has by value, because these can have several
// owners.
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

// removeValue is Remove for the field with that name. gone reports whether nothing of its value is left.
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

// without returns the items of a list that are not in the set by their keys.
func (f FieldSet) without(list []any) []any {
	index := f.index(list)
	return slices.DeleteFunc(slices.Clone(list), func(element any) bool {
		key, _, ok := index.first(element)
		return ok && strings.HasPrefix(key, "k:")
	})
}

// WithoutEmptied returns content without the empty mappings that have fields in the set, and whether there are any. Server-side
// apply would replace such a mapping by null, which schemas reject: it removes the fields, drops the empty mapping, and keeps its
// key, because the key is applied. So these fields must be released first.
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
