package object

import (
	"maps"
	"slices"
	"strings"
)

// maxLinear is the number of keys and items up to which they are compared one by one. For more, an index is faster, and lists can have
// tens of thousands.
const maxLinear = 8

// itemIndex finds the keys of a set that identify a list item, and the list item that a key identifies. It builds indexes for
// long lists and sets on first use. It is not safe for concurrent use; set and list must not change.
type itemIndex struct {
	set    FieldSet
	long   bool
	likely []string // the fields of one of the keys; nil = not determined yet
	keys   []listKey
	names  []string                    // of the fields in keys, sorted
	by     map[string]map[string][]int // indexes into keys, by the shape and the values of an item

	list   []any
	shapes []listShape
}

// listKey is a parsed key of a set: `k:{…}` or `v:…`.
type listKey struct {
	text  string
	value any // a scalar; unused if named is set
	named map[string]any
}

// listShape describes which key fields an item has.
type listShape struct {
	scalar bool
	names  []string
	at     map[string]int // indexes into the list, by the values
}

func (f FieldSet) index(list []any) itemIndex {
	return itemIndex{set: f, list: list, long: len(f) > maxLinear || len(list) > maxLinear}
}

// indexKeys parses all keys.
func (x *itemIndex) indexKeys() {
	if x.by != nil {
		return
	}
	x.by = map[string]map[string][]int{}
	for text := range x.set {
		key, ok := parseListKey(text)
		if !ok {
			continue
		}
		x.keys = append(x.keys, key)
		for name := range key.named {
			if !slices.Contains(x.names, name) {
				x.names = append(x.names, name)
			}
		}
	}
	slices.Sort(x.names)
}

// likelyKey returns the key of a list item, if the server has neither defaulted a key field nor escaped characters.
func (x *itemIndex) likelyKey(item any) string {
	fields, ok := item.(map[string]any)
	if !ok {
		return string(Append([]byte("v:"), item))
	}
	if x.likely == nil {
		x.likely = []string{}
		for text := range x.set {
			if key, ok := parseListKey(text); ok && key.named != nil {
				x.likely = slices.AppendSeq(x.likely, maps.Keys(key.named))
				break
			}
		}
	}
	key := make(map[string]any, len(x.likely))
	for _, name := range x.likely {
		key[name] = fields[name]
	}
	return string(Append([]byte("k:"), key))
}

func parseListKey(text string) (key listKey, ok bool) {
	key.text = text
	if json, is := strings.CutPrefix(text, "v:"); is {
		key.value, ok = Parse(json)
		return key, ok
	}
	json, is := strings.CutPrefix(text, "k:")
	if !is {
		return key, false
	}
	parsed, _ := Parse(json)
	key.named, ok = parsed.(map[string]any)
	return key, ok
}

// keysOf returns the keys that identify a list item. If the item lacks a key field, the server has defaulted it, so any value
// matches.
func (x *itemIndex) keysOf(item any) []string {
	var keys []string
	if !x.long {
		for text := range x.set {
			if itemKey(text, item) {
				keys = append(keys, text)
			}
		}
		return keys
	}
	x.indexKeys()
	shape := x.shapeOf(item)
	name := shape.name()
	known, ok := x.by[name]
	if !ok {
		known = map[string][]int{}
		for i, key := range x.keys {
			if values, ok := shape.valuesOfKey(key); ok {
				known[values] = append(known[values], i)
			}
		}
		x.by[name] = known
	}
	for _, i := range known[shape.valuesOf(item)] {
		keys = append(keys, x.keys[i].text)
	}
	return keys
}

// first returns a key that identifies a list item, and the set below it.
func (x *itemIndex) first(item any) (key string, below FieldSet, ok bool) {
	if !x.long {
		return x.set.item(item)
	}
	key = x.likelyKey(item)
	if below, ok := x.set[key]; ok {
		set, _ := below.(map[string]any)
		return key, set, true
	}
	keys := x.keysOf(item)
	if len(keys) == 0 {
		return "", nil, false
	}
	set, _ := x.set[keys[0]].(map[string]any)
	return keys[0], set, true
}

// find returns the item of the list with the same key as another item, and the set below that key.
func (x *itemIndex) find(item any) (below FieldSet, has any, ok bool) {
	for i, key := range x.keysOf(item) {
		if i == 0 {
			below, _ = x.set[key].(map[string]any)
		}
		if has, ok = x.pick(key); ok {
			return below, has, true
		}
	}
	return below, nil, false
}

// pick returns the list item that a key identifies.
func (x *itemIndex) pick(text string) (any, bool) {
	if !x.long {
		return pick(text, x.list)
	}
	key, ok := parseListKey(text)
	if !ok {
		return nil, false
	}
	if x.shapes == nil {
		x.indexList()
	}
	for _, shape := range x.shapes {
		if values, ok := shape.valuesOfKey(key); ok {
			if i, ok := shape.at[values]; ok {
				return x.list[i], true
			}
		}
	}
	return nil, false
}

func (x *itemIndex) indexList() {
	x.indexKeys()
	x.shapes = []listShape{}
	known := map[string]int{}
	for i, item := range x.list {
		shape := x.shapeOf(item)
		name := shape.name()
		at, ok := known[name]
		if !ok {
			at = len(x.shapes)
			known[name] = at
			shape.at = map[string]int{}
			x.shapes = append(x.shapes, shape)
		}
		values := shape.valuesOf(item)
		if _, ok := x.shapes[at].at[values]; !ok {
			x.shapes[at].at[values] = i
		}
	}
}

func (x *itemIndex) shapeOf(item any) listShape {
	fields, ok := item.(map[string]any)
	if !ok {
		return listShape{scalar: true}
	}
	var shape listShape
	for _, name := range x.names {
		if _, ok := fields[name]; ok {
			shape.names = append(shape.names, name)
		}
	}
	return shape
}

func (s listShape) name() string {
	if s.scalar {
		return "scalar"
	}
	return "fields\x00" + strings.Join(s.names, "\x00")
}

// valuesOf returns a string that is equal for items of this shape with equal key fields.
func (s listShape) valuesOf(item any) string {
	if s.scalar {
		return string(appendScalar(nil, item))
	}
	fields, _ := item.(map[string]any)
	return s.values(fields)
}

// valuesOfKey is valuesOf for the items that a key identifies. It returns false if the key identifies no items of this shape.
func (s listShape) valuesOfKey(key listKey) (string, bool) {
	if s.scalar {
		return string(appendScalar(nil, key.value)), key.named == nil
	}
	return s.values(key.named), key.named != nil
}

func (s listShape) values(fields map[string]any) string {
	var text []byte
	for _, name := range s.names {
		text = append(appendScalar(text, fields[name]), 0)
	}
	return string(text)
}

// appendScalar appends a scalar. Its output is equal for scalars that are equal according to sameScalar.
func appendScalar(text []byte, value any) []byte {
	if f, ok := value.(float64); ok && sameNumber(int64(f), f) {
		value = int64(f)
	}
	return Append(text, value)
}
