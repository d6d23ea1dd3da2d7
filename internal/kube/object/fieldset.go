package object

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
)

// FieldSet is a set of fields as managedFields holds it (FieldsV1): a tree whose keys
// are "f:name" for a field, `k:{…}` for a list item by its key fields, `v:…` for a
// list item by its value, and "." for the node itself.
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
type FieldSet map[string]any

// Field returns the set below a field, and whether the field is in the set.
func (f FieldSet) Field(name string) (FieldSet, bool) {
	below, ok := f["f:"+name]
	set, _ := below.(map[string]any)
	return set, ok
}

// whole reports whether the set holds the node with all that is below it: an
// atomic value, or a scalar.
func (f FieldSet) whole() bool {
	for k := range f {
		if k != "." {
			return false
		}
	}
	return true
}

// Uncovered returns the path of the first field that content sets and the set
// does not hold, or "" when it holds all. apiVersion, kind, and the object's
// name and namespace are never in a set.
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

// leafless reports whether a value may leave nothing in a set. The server drops
// nulls. Of an empty list it keeps an entry only where the list is atomic,
// which is not known here: so whoever fills such a list is not noticed.
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

// UncoveredValue is Uncovered for a value whose node has something below it in the set.
func (f FieldSet) UncoveredValue(value any) string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if path := f.uncoveredField(name, value[name]); path != "" {
				return path
			}
		}
	case []any:
		for _, element := range value {
			below, ok := f.Item(element)
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

// Item returns the set below a list item. A key field that the element lacks was
// filled in by the server, so any value of it will do.
func (f FieldSet) Item(element any) (FieldSet, bool) {
	_, below, ok := f.item(element)
	return below, ok
}

// item is Item with the key of the item.
func (f FieldSet) item(element any) (key string, below FieldSet, ok bool) {
	if len(f) > few {
		key = f.likelyKey(element)
		if below, ok := f[key]; ok {
			set, _ := below.(map[string]any)
			return key, set, true
		}
	}
	for k, below := range f {
		if itemKey(k, element) {
			set, _ := below.(map[string]any)
			return k, set, true
		}
	}
	return "", nil, false
}

// few is how many keys of a list are compared with an item one by one.
const few = 8

// likelyKey returns the key that the set has for a list item, if the server writes it as Append does and has filled in no key field.
// So the items of a long list need not be compared with all keys.
func (f FieldSet) likelyKey(element any) string {
	item, ok := element.(map[string]any)
	if !ok {
		return string(Append([]byte("v:"), element))
	}
	for key := range f {
		text, ok := strings.CutPrefix(key, "k:")
		if !ok {
			continue
		}
		parsed, _ := Parse(text)
		keys, _ := parsed.(map[string]any)
		for name := range keys {
			keys[name] = item[name]
		}
		return string(Append([]byte("k:"), keys))
	}
	return ""
}

// itemKey reports whether the key of a set names the list item.
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

// sameScalar compares JSON scalars; numbers by value, whatever their Go type.
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

// sameNumber compares without rounding: above 2^53 several integers have one nearest float64.
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

// Hash returns a hash of the fields that the set holds, and of their values in current; it is not 0. Fields of others and the order of items
// that are owned one by one do not count. Nobody outside of the process can tell which values have one hash.
func (f FieldSet) Hash(current any) uint32 {
	return max(1, uint32(f.sum(current))) //nolint:gosec // any bits will do
}

// member is a field or an item by the key of the set, and the sum of what is below it.
type member struct {
	key string
	sum uint64
}

func (f FieldSet) sum(current any) uint64 {
	if len(f) == 0 {
		return maphash.Bytes(seed, Append(make([]byte, 0, 64), current))
	}
	var sum uint64 // the same in any order
	switch current := current.(type) {
	case map[string]any:
		for name, value := range current {
			if below, ok := f.Field(name); ok {
				sum += maphash.Comparable(seed, member{name, below.sum(value)})
			}
		}
	case []any:
		for _, element := range current {
			if key, below, ok := f.item(element); ok {
				sum += maphash.Comparable(seed, member{key, below.sum(element)})
			}
		}
	}
	return sum
}
