package kind

import (
	"maps"
	"slices"
	"strconv"
)

// Fields says which fields a value can hold, as far as its schema tells. A nil Fields allows any. It never changes.
type Fields struct {
	names map[string]*Fields // of a mapping with known keys; nil for others
	items *Fields            // of a list, or of a mapping whose keys are not known
}

// fieldsOf reads the fields that a structural schema allows.
func fieldsOf(schema map[string]any) *Fields {
	if len(schema) == 0 || preserves(schema) || schema[embeddedKey] == true {
		return nil
	}
	if properties := inner(schema, "properties"); len(properties) > 0 {
		names := make(map[string]*Fields, len(properties))
		for name := range properties {
			names[name] = fieldsOf(inner(properties, name))
		}
		return &Fields{names: names}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if items := fieldsOf(inner(schema, key)); items != nil {
			return &Fields{items: items}
		}
	}
	return nil
}

// DropUnknown removes from content the fields that it cannot hold. Before that, it calls unknown with the path of each of them, which
// begins with at.
func (f *Fields) DropUnknown(content any, at string, unknown func(path string)) {
	if f == nil {
		return
	}
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			below, ok := f.names[name]
			switch {
			case f.names == nil:
				f.items.DropUnknown(content[name], at+"."+name, unknown)
			case ok:
				below.DropUnknown(content[name], at+"."+name, unknown)
			default:
				unknown(at + "." + name)
				delete(content, name)
			}
		}
	case []any:
		for i, item := range content {
			f.items.DropUnknown(item, at+"["+strconv.Itoa(i)+"]", unknown)
		}
	}
}
