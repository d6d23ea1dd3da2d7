package typed

import (
	"maps"
	"reflect"
	"slices"

	"github.com/templater-dev/templater/internal/schema"
)

// value is what is known of a value at a place in a template. It does not change.
type value struct {
	kinds schema.Kinds // what it may be; 0 = anything, and Null = it is always missing
	of    *schema.Type // where its fields and items are told; nil = not by a schema
	// keys are the entries of a map that templates or spec.values make; nil where nobody knows. open says that there may be more.
	keys map[string]*value
	open bool
	item *value // of a list, or of a map whose keys are not known; nil = anything
	// grows says that a loop around appends to the list: item is what is known of by now, and nil is nothing.
	grows bool
	data  any // of spec.values, whose parts are looked at when asked for

	// sparse says that a map may lack what its type says is there. variants are what it may be, if it is one of several
	// objects.
	sparse   bool
	variants []*value

	lit    any     // what it is, if it is written out or in spec.values: a string, int64, float64 or bool
	origin *origin // where it is from; nil = it is computed
	// optional are the steps on the way to it that objects may lack.
	optional []string
	notes    []*note // why it is always missing
	at       place   // of the last key on the way to it
}

// origin says where a value is from, in words of the author.
type origin struct {
	root   string // such as .children.web[]; "" is the parent
	object string // what the whole is called: SimpleDeployment
	path   string // in the object: .spec.template
	up     *origin
	of     *schema.Type
	from   source
	items  map[uintptr]*value // of spec.values: what is in a list or a map, by its address
}

// source tells what told the type of a value.
type source int

// The sources.
const (
	fromSchema source = iota
	fromValues
	fromTemplate
)

// step returns the whole path of an origin, by which places are compared.
func (o *origin) step() string { return o.root + o.path }

// below returns the origin of a field.
func (o *origin) below(key string, of *schema.Type) *origin {
	if o == nil {
		return nil
	}
	return &origin{root: o.root, object: o.object, path: o.path + "." + key, up: o, of: of, from: o.from, items: o.items}
}

// The kinds of values, in short.
const (
	str     = schema.String
	integer = schema.Integer
	float   = schema.Number
	number  = integer | float
	boolean = schema.Boolean
	list    = schema.List
	mapping = schema.Map
	null    = schema.Null
	scalar  = str | number | boolean
)

var (
	anything = &value{}
	missing  = &value{kinds: null}
)

func ofKinds(kinds schema.Kinds) *value { return &value{kinds: kinds} }

// literal returns the value that a text of the author is.
func literal(v any) *value { return &value{kinds: kindOf(v), lit: v} }

func kindOf(v any) schema.Kinds {
	switch v.(type) {
	case nil:
		return null
	case string:
		return str
	case bool:
		return boolean
	case int64:
		return integer
	case float64:
		return float
	case []any:
		return list
	case map[string]any:
		return mapping
	}
	return 0
}

// ofData returns what a value of spec.values is. Its parts are looked at later.
func ofData(v any, o *origin) *value {
	known := &value{kinds: kindOf(v), data: v, origin: o}
	if known.kinds&scalar != 0 {
		known.lit = v
	}
	return known
}

// ofType returns a value of a type.
func ofType(t *schema.Type, o *origin) *value {
	v := &value{of: t, origin: o}
	if t == nil {
		return v
	}
	if v.kinds = t.Kinds; v.kinds&float != 0 {
		v.kinds |= integer // a whole number is one, whatever its schema calls it
	}
	return v
}

func listOf(item *value) *value { return &value{kinds: list, item: item} }

// never and always report what if makes of it, as far as that is known.
func (v *value) never() bool {
	switch lit := v.lit.(type) {
	case bool:
		return !lit
	case string:
		return lit == ""
	case int64:
		return lit == 0
	}
	switch data := v.data.(type) {
	case []any:
		return len(data) == 0
	case map[string]any:
		return len(data) == 0
	}
	return v.kinds == null || v.kinds == mapping && v.keys != nil && len(v.keys) == 0 && !v.open
}

func (v *value) always() bool {
	switch lit := v.lit.(type) {
	case bool:
		return lit
	case string:
		return lit != ""
	case int64:
		return lit != 0
	}
	return v.kinds == mapping && v.hasKeys()
}

// hasKeys reports whether a map has at least one key.
func (v *value) hasKeys() bool {
	if v.sparse {
		return false
	}
	if v.of == nil {
		return len(v.keys) > 0 && v.origin != nil && v.origin.from == fromTemplate
	}
	for _, f := range v.of.Fields {
		if f.Present {
			return true
		}
	}
	return false
}

// may reports whether it may be one of the kinds.
func (v *value) may(kinds schema.Kinds) bool { return v.kinds == 0 || v.kinds&kinds != 0 }

// nullable returns the value, or nothing.
func (v *value) nullable() *value {
	if v.kinds == 0 || v.kinds&null != 0 {
		return v
	}
	w := *v
	w.kinds |= null
	w.lit = nil
	return &w
}

// present returns the value where it is there.
func (v *value) present() *value {
	if v.kinds&null == 0 && len(v.optional) == 0 {
		return v
	}
	w := *v
	w.optional = nil
	if w.kinds &^= null; w.kinds == 0 && v.kinds != 0 {
		return anything // it is never there, so nobody gets here
	}
	return &w
}

// join returns what a value is that is one of two.
func join(a, b *value) *value {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	case a.kinds == null && b.kinds == null:
		return &value{kinds: null, notes: some(a.notes, b.notes)}
	case a.kinds == null:
		return b.nullable()
	case b.kinds == null:
		return a.nullable()
	case a.kinds == 0 || b.kinds == 0:
		return anything
	case a.isEmpty(b):
		return b.orEmpty()
	case b.isEmpty(a):
		return a.orEmpty()
	}
	if a.grows && b.grows {
		return &value{kinds: list, item: join(a.item, b.item), grows: true}
	}
	v := &value{kinds: a.kinds | b.kinds, sparse: a.sparse || b.sparse, optional: some(a.optional, b.optional)}
	if a.lit == b.lit {
		v.lit = a.lit
	}
	switch {
	case a.kinds&(list|mapping) == 0:
		v.of, v.keys, v.open, v.item, v.data, v.origin = b.of, b.keys, b.open, b.item, b.data, b.origin
	case b.kinds&(list|mapping) == 0:
		v.of, v.keys, v.open, v.item, v.data, v.origin = a.of, a.keys, a.open, a.item, a.data, a.origin
	case a.of != nil && a.of == b.of:
		v.of, v.origin = a.of, a.origin
	case a.kinds&mapping == 0 && b.kinds&mapping == 0:
		v.item = join(a.each(), b.each())
	default:
		v.open = true // a map of which nothing is known
	}
	return v
}

// some returns what is in both, but not more than anybody reads.
func some[T any](a, b []T) []T {
	const most = 16
	all := slices.Concat(a, b)
	return all[:min(len(all), most)]
}

// isEmpty reports whether it is a list or a map with nothing in it, in place of another one.
func (v *value) isEmpty(other *value) bool {
	return v.kinds&(list|mapping) != 0 && other.kinds&^null == v.kinds && v.never()
}

// orEmpty returns the value, or a list or a map with nothing in it.
func (v *value) orEmpty() *value {
	w := *v
	w.sparse, w.data, w.lit = true, nil, nil
	if v.data != nil && v.kinds&list != 0 {
		w.item = v.each()
	}
	if v.data != nil && v.kinds&mapping != 0 {
		w.open = true
	}
	return &w
}

// same reports whether two values are the same, as far as it is cheap to tell.
func (v *value) same(w *value, depth int) bool {
	if v == w {
		return true
	}
	if v == nil || w == nil || v.kinds != w.kinds || v.of != w.of || v.lit != w.lit || len(v.keys) != len(w.keys) || (v.data == nil) != (w.data == nil) || v.open != w.open || v.sparse != w.sparse || v.grows != w.grows || len(v.variants) != len(w.variants) {
		return false
	}
	if v.origin == nil && w.origin == nil && !reflect.DeepEqual(v.data, w.data) {
		return false
	}
	if v.origin != w.origin && (v.origin == nil || w.origin == nil || v.origin.step() != w.origin.step()) {
		return false
	}
	if depth == 0 {
		return v.keys == nil && v.item == nil && w.item == nil
	}
	return v.item.same(w.item, depth-1) && maps.EqualFunc(v.keys, w.keys, func(a, b *value) bool { return a.same(b, depth-1) })
}
