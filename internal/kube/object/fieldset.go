package object

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
)

// FieldSet is a set of fields in the format of managedFields (FieldsV1): a tree with the keys "f:name" for a field, `k:{…}` for a
// list item by its key fields, `v:…` for a list item by its value, and "." for the node itself.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
type FieldSet map[string]any

// Field returns the set below a field, and whether the field is in the set.
func (f FieldSet) Field(name string) (FieldSet, bool) {
	below, ok := f["f:"+name]
	set, _ := below.(map[string]any)
	return set, ok
}

// whole reports whether the set has the node with its whole value: it is atomic or a scalar.
func (f FieldSet) whole() bool {
	for k := range f {
		if k != "." {
			return false
		}
	}
	return true
}

// Uncovered returns the path of the first field in content that is not in the set, or "" if all are. apiVersion, kind, and the
// object's name and namespace are ignored, because they are never in a set.
func (f FieldSet) Uncovered(content map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(content)) {
		value := content[name]
		if name == "apiVersion" || name == "kind" {
			continue
		}
		if name == "metadata" {
			value = withoutIdentity(value)
		}
		if path := f.uncoveredField(name, value); path != "" {
			return path
		}
	}
	return ""
}

func (f FieldSet) uncoveredField(name string, value any) string {
	below, ok := f.Field(name)
	if !ok {
		if leafless(value) {
			return ""
		}
		return "." + name + FieldSet{}.UncoveredValue(value)
	}
	if below.whole() {
		return ""
	}
	if path := below.UncoveredValue(value); path != "" {
		return "." + name + path
	}
	return ""
}

// leafless reports whether a value may add nothing to a set. The server drops nulls. It records an empty list only if the list is
// atomic, which is not known here, so it is not detected if another client adds items to an empty list.
func leafless(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case []any:
		return len(value) == 0
	case map[string]any:
		for _, inner := range value {
			if !leafless(inner) {
				return false
			}
		}
		return len(value) > 0
	}
	return false
}

// UncoveredValue is Uncovered for a value whose node has children in the set.
func (f FieldSet) UncoveredValue(value any) string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if path := f.uncoveredField(name, value[name]); path != "" {
				return path
			}
		}
	case []any:
		index := f.index(value)
		for _, element := range value {
			_, below, ok := index.first(element)
			if !ok {
				return "[]"
			}
			if below.whole() {
				continue
			}
			if path := below.UncoveredValue(element); path != "" {
				return "[]" + path
			}
		}
	}
	return ""
}

// Item returns the set below a list item. If the element lacks a key field, the server has defaulted it, so any value matches.
func (f FieldSet) Item(element any) (FieldSet, bool) {
	_, below, ok := f.item(element)
	return below, ok
}

// item is Item, and also returns the key of the item.
func (f FieldSet) item(element any) (key string, below FieldSet, ok bool) {
	for k, below := range f {
		if itemKey(k, element) {
			set, _ := below.(map[string]any)
			return k, set, true
		}
	}
	return "", nil, false
}

// itemKey reports whether a key of a set identifies the list item.
func itemKey(key string, element any) bool {
	if text, ok := strings.CutPrefix(key, "v:"); ok {
		return sameJSON(text, element)
	}
	text, ok := strings.CutPrefix(key, "k:")
	return ok && hasKeys(text, element)
}

func sameJSON(text string, value any) bool {
	v, ok := Parse(text)
	return ok && sameScalar(v, value)
}

func hasKeys(text string, element any) bool {
	m, ok := element.(map[string]any)
	if !ok {
		return false
	}
	parsed, _ := Parse(text)
	keys, ok := parsed.(map[string]any)
	if !ok {
		return false
	}
	for name, want := range keys {
		if has, ok := m[name]; ok && !sameScalar(want, has) {
			return false
		}
	}
	return true
}

// sameScalar compares JSON scalars; numbers are compared by value, whatever their Go type.
func sameScalar(a, b any) bool {
	switch a := a.(type) {
	case int:
		return sameScalar(int64(a), b)
	case int64:
		switch b := b.(type) {
		case int64:
			return a == b
		case float64:
			return sameNumber(a, b)
		}
	case float64:
		switch b := b.(type) {
		case int64:
			return sameNumber(b, a)
		case float64:
			return a == b
		}
	case string, bool, nil:
		return a == b
	}
	return false
}

// sameNumber compares without rounding: above 2^53, several integers have the same nearest float64.
func sameNumber(n int64, f float64) bool {
	return f >= -1<<63 && f < 1<<63 && f == math.Trunc(f) && int64(f) == n
}

func withoutIdentity(metadata any) any {
	m, ok := metadata.(map[string]any)
	if !ok {
		return metadata
	}
	out := maps.Clone(m)
	delete(out, "name")
	delete(out, "namespace")
	return out
}

var seed = maphash.MakeSeed()

// Hash returns a hash, never 0, of the fields in the set and their values in current. Fields that are not in the set, and the
// order of items that are owned individually, do not matter. The hash is seeded per process, so that clients cannot precompute
// collisions.
func (f FieldSet) Hash(current any) uint32 {
	return max(1, uint32(f.sum(current))) //nolint:gosec // truncated on purpose
}

// member is a field or an item by its key, and the hash of its value.
type member struct {
	key string
	sum uint64
}

func (f FieldSet) sum(current any) uint64 {
	if len(f) == 0 {
		return maphash.Bytes(seed, Append(make([]byte, 0, 64), current))
	}
	var sum uint64 // independent of the order
	switch current := current.(type) {
	case map[string]any:
		for name, value := range current {
			if below, ok := f.Field(name); ok {
				sum += maphash.Comparable(seed, member{name, below.sum(value)})
			}
		}
	case []any:
		index := f.index(current)
		for _, element := range current {
			if key, below, ok := index.first(element); ok {
				sum += maphash.Comparable(seed, member{key, below.sum(element)})
			}
		}
	}
	return sum
}
