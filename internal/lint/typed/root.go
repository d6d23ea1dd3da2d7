package typed

import (
	"slices"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/schema"
)

// root returns what a template sees.
func (c *checker) root(u *syntax.Unit) *value {
	parent := c.object(c.spec.Watch.APIVersion, c.spec.Watch.Kind, "")
	keys := map[string]*value{
		"parent":     parent,
		"controller": {kinds: mapping, keys: map[string]*value{"name": ofKinds(str)}},
		"values":     c.values(),
	}
	for _, key := range []string{"metadata", "spec", "status"} {
		keys[key] = anything
		if parent.of != nil {
			found, _ := parent.lookup(key)
			if found == nil {
				found = missing
			}
			keys[key] = found
		}
	}
	if u.Purpose != syntax.ForSelect {
		observed, children := map[string]*value{}, map[string]*value{}
		for _, name := range c.units.Names {
			observed[name], children[name] = objects(".observed."+name, c.childOf(name)), objects(".children."+name, c.childOf(name))
		}
		related := map[string]*value{}
		for i := range c.spec.Related {
			r := &c.spec.Related[i]
			related[r.Name] = objects(".related."+r.Name, c.object(r.APIVersion, r.Kind, ".related."+r.Name+"[]"))
		}
		keys["children"], keys["observed"] = &value{kinds: mapping, keys: children, open: true}, &value{kinds: mapping, keys: observed, open: true}
		keys["related"] = &value{kinds: mapping, keys: related, open: true}
	}
	if u.Purpose == syntax.ForReadyWhen {
		keys["object"] = c.childOf(c.entryOf(u))
	}
	// Which keys there are is checked where templates are parsed.
	return &value{kinds: mapping, keys: keys, open: true, origin: &origin{from: fromTemplate}}
}

// values returns spec.values.
func (c *checker) values() *value {
	data := c.program.Values()
	if data == nil {
		data = map[string]any{}
	}
	return ofData(map[string]any(data), &origin{root: ".values", from: fromValues, items: map[uintptr]*value{}})
}

// object returns an object of a kind.
func (c *checker) object(apiVersion, kind, root string) *value {
	gv, err := gvk.ParseGroupVersion(apiVersion)
	if err != nil || c.known == nil {
		return ofKinds(mapping)
	}
	t, exists := c.known.Lookup(gv.WithKind(kind))
	if t == nil || !exists {
		if t = c.anyObject(); t == nil {
			return ofKinds(mapping)
		}
	}
	v := ofType(t, &origin{root: root, object: kind, of: t})
	v.kinds = mapping
	return v
}

// anyObject is the type of objects of which no more is known: they have metadata like all others. It may be nil.
func (c *checker) anyObject() *schema.Type {
	t, _ := c.known.Lookup(gvk.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	if t == nil {
		return nil
	}
	object := &schema.Type{Kinds: schema.Map, Open: true, Fields: map[string]schema.Field{}}
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		object.Fields[name] = t.Fields[name]
	}
	return object
}

// entryOf returns the name of the entry that a readyWhen is of.
func (c *checker) entryOf(u *syntax.Unit) string {
	for _, name := range c.units.Names {
		if syntax.ReadyWhenName(name) == u.Text.Name {
			return name
		}
	}
	return ""
}

// childOf returns an object that the template of an entry yields.
func (c *checker) childOf(name string) *value {
	if v := c.kinds[name]; v != nil {
		return v
	}
	v := c.yields(name)
	c.kinds[name] = v
	return v
}

// yields returns what the objects of an entry are, as far as its text shows their kinds.
func (c *checker) yields(name string) *value {
	i := slices.IndexFunc(c.units.Children, func(u *syntax.Unit) bool { return u.Text.Name == syntax.ChildName(name) })
	if i < 0 {
		return ofKinds(mapping)
	}
	var all []*value
	root := ".children." + name + "[]"
	for _, kind := range c.Skeleton(c.units.Children[i]).Kinds() {
		all = append(all, c.object(kind.GroupVersion().String(), kind.Kind, root))
	}
	if len(all) == 1 {
		return all[0]
	}
	v := c.object("", "", root)
	v.origin = &origin{root: root, object: "the object", of: v.of}
	v.variants = all
	return v
}

// objects returns the objects of an entry, which templates see under a name.
func objects(name string, item *value) *value {
	v := listOf(item)
	if item.of != nil {
		v.origin = &origin{root: name, object: name, of: &schema.Type{Kinds: list, Items: item.of}}
	}
	return v
}
