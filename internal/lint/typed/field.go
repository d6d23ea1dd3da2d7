package typed

import (
	"maps"
	"reflect"
	"slices"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/schema"
)

// alwaysThere are fields that each object of an API server has, or as good as, though schemas call them optional.
var alwaysThere = map[string]bool{
	".apiVersion": true, ".kind": true, ".metadata": true, ".spec": true,
	".metadata.name": true, ".metadata.namespace": true, ".metadata.uid": true, ".metadata.creationTimestamp": true, ".metadata.generation": true,
}

// phases are those of objects that have one from the beginning.
var phases = map[string]bool{"Pod": true, "Namespace": true, "PersistentVolume": true, "PersistentVolumeClaim": true}

// scaled are those whose number of replicas the API server sets where nobody else does.
var scaled = map[string]bool{"Deployment": true, "StatefulSet": true, "ReplicaSet": true, "ReplicationController": true}

// isThere reports whether an object has what is there, whatever its schema says.
func (o *origin) isThere() bool {
	return o != nil && (alwaysThere[o.path] || o.path == ".status.phase" && phases[o.object] || o.path == ".spec.replicas" && scaled[o.object])
}

// neverSeen are fields that objects have and templates do not see.
var neverSeen = map[string]bool{".metadata.managedFields": true, ".metadata.resourceVersion": true}

// field returns the value of a key of v, and notes what is wrong with asking for it.
func (c *checker) field(v *value, key string, at place) *value {
	switch {
	case v.kinds == null:
		return v
	case v.kinds != 0 && v.kinds&mapping == 0:
		return c.noMap(v, key, at)
	}
	found, known := v.lookup(key)
	if !known {
		return c.unknown(v, key, at)
	}
	c.resolved(at)
	if c.collecting > 0 {
		c.test(found.origin)
	}
	if c.labels[stepOf(found.origin)] {
		found = found.present()
	}
	w := *found
	w.at = at
	if v.may(null) || v.sparse {
		w = *w.nullable()
	}
	if o := w.origin; o != nil && o.from == fromSchema {
		w.optional = some(v.optional, w.optional)
	}
	return &w
}

// lookup returns what is known of a key of a map, or false if it cannot have it.
func (v *value) lookup(key string) (found *value, known bool) {
	switch {
	case v.data != nil:
		m, _ := v.data.(map[string]any)
		entry, there := m[key]
		return ofData(entry, v.origin.below(key, nil)), there
	case v.keys != nil:
		if w, there := v.keys[key]; there {
			return w, true
		}
		return anything, v.open
	case v.of == nil && v.item != nil:
		return v.item.nullable(), true
	case v.of == nil:
		return anything, true
	}
	return v.ofSchema(key)
}

// ofSchema returns what a schema tells of a key.
func (v *value) ofSchema(key string) (found *value, known bool) {
	t := v.of
	f, there := t.Fields[key]
	switch {
	case there:
		o := v.origin.below(key, f.Type)
		if o != nil && neverSeen[o.path] {
			return nil, false
		}
		w := ofType(f.Type, o)
		switch {
		case f.Present || o.isThere():
			return w, true
		case o != nil && o.path == ".status":
			return w.nullable(), true // which is told of its fields
		}
		w = w.nullable()
		w.optional = []string{stepOf(o)}
		return w, true
	case t.Fields == nil:
		w := ofType(t.Items, v.origin.below(key, t.Items)).nullable()
		if t.Items != nil {
			w.optional = []string{stepOf(w.origin)}
		}
		return w, true
	}
	return anything, t.Open
}

func stepOf(o *origin) string {
	if o == nil {
		return ""
	}
	return o.step()
}

// each returns what range and first find in a list or a map.
func (v *value) each() *value {
	if v.grows {
		return anything // another round may have appended something else
	}
	switch data := v.data.(type) {
	case []any:
		return v.origin.remember(data, func() []any { return data })
	case map[string]any:
		return v.origin.remember(data, func() []any { return slices.Collect(maps.Values(data)) })
	}
	switch {
	case v.of != nil && v.kinds&list != 0:
		return ofType(v.of.Items, v.origin.item(v.of.Items))
	case v.of != nil && v.of.Fields == nil && v.of.Items != nil:
		return ofType(v.of.Items, v.origin.item(v.of.Items))
	case v.item != nil:
		return v.item
	}
	return anything
}

// item is the origin of what is in a list.
func (o *origin) item(of *schema.Type) *origin {
	if o == nil {
		return nil
	}
	return &origin{root: o.root, object: o.object, path: o.path + "[]", up: o, of: of, from: o.from, items: o.items}
}

// remember returns what is in a list or a map of spec.values, which is looked at once.
func (o *origin) remember(data any, all func() []any) *value {
	if o == nil || o.items == nil {
		return itemsOf(all(), o)
	}
	at := reflect.ValueOf(data).Pointer()
	v := o.items[at]
	if v == nil {
		v = itemsOf(all(), o)
		o.items[at] = v
	}
	return v
}

// itemsOf returns what all items are. Of many, nobody asks.
func itemsOf(all []any, o *origin) *value {
	const most = 100
	if len(all) == 0 || len(all) > most {
		return anything
	}
	var v *value
	for _, item := range all {
		w := ofData(item, nil)
		if o != nil {
			w.origin = o.item(nil)
		}
		w.lit = nil
		v = joinData(v, w)
	}
	return v
}

// joinData joins items of spec.values. A map of a list has what any of them has.
func joinData(a, b *value) *value {
	if a == nil {
		return b
	}
	m, ok1 := a.data.(map[string]any)
	n, ok2 := b.data.(map[string]any)
	if !ok1 || !ok2 {
		v := join(a, b)
		if v.kinds&(list|mapping) != 0 {
			return ofKinds(v.kinds)
		}
		return v
	}
	keys := map[string]*value{}
	for _, each := range []map[string]any{m, n} {
		for key := range each {
			keys[key] = anything
		}
	}
	return &value{kinds: mapping, keys: keys, origin: a.origin}
}

// noMap notes that a key is asked of what has none.
func (c *checker) noMap(v *value, key string, at place) *value {
	n := c.note(finding.NoFields, at)
	n.of, n.key, n.kinds = v.origin, key, v.kinds&^null
	if c.dead == 0 {
		n.raise(finding.Warning)
	}
	if v.kinds&null == 0 {
		c.fails(n)
	}
	return &value{kinds: null, notes: []*note{n}}
}

// unknown notes that a map cannot have a key.
func (c *checker) unknown(v *value, key string, at place) *value {
	n := c.note(finding.UnknownField, at)
	n.of, n.in, n.key = v.origin, v, key
	if v.origin != nil && v.origin.from == fromSchema {
		n.raise(finding.Warning)
	}
	if v.origin != nil && v.origin.from == fromValues && c.nearest(key, c.knownKeys(v)) != "" {
		n.raise(finding.Warning)
	}
	return &value{kinds: null, notes: []*note{n}}
}
