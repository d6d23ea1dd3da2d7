package typed

import (
	"maps"

	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// root returns what a template sees.
func (c *checker) root(u *syntax.Unit) *value.Value {
	parent := c.object(c.spec.Watch.APIVersion, c.spec.Watch.Kind, "")
	keys := map[string]*value.Value{
		"parent":     parent,
		"controller": {Kinds: schema.Map, Keys: map[string]*value.Value{"name": value.OfKinds(schema.String)}},
		"values":     c.values(),
	}
	for _, key := range []string{"metadata", "spec", "status"} {
		keys[key] = value.Anything
		if parent.Type != nil {
			found, _ := parent.Lookup(key)
			if found == nil {
				found = value.Missing
			}
			keys[key] = found
		}
	}
	if u.Purpose != syntax.ForSelect && u.Purpose != syntax.ForFilter && u.Purpose != syntax.ForFilterWithoutStatus {
		if c.others == nil {
			c.others = c.otherObjects()
		}
		maps.Copy(keys, c.others)
	}
	if u.Purpose == syntax.ForReadyWhen {
		keys["object"] = c.childOf(c.entries[u.Text.Name])
	}
	// Which keys there are is checked where templates are parsed.
	return &value.Value{Kinds: schema.Map, Keys: keys, Open: true, Origin: &value.Origin{Source: value.FromTemplate}}
}

// otherObjects returns what templates see of children and related objects, which is the same for all of them.
func (c *checker) otherObjects() map[string]*value.Value {
	observed, children := map[string]*value.Value{}, map[string]*value.Value{}
	for _, name := range c.units.Names {
		observed[name], children[name] = objects(".observed."+name, c.childOf(name)), objects(".children."+name, c.childOf(name))
	}
	related := map[string]*value.Value{}
	for i := range c.spec.Related {
		r := &c.spec.Related[i]
		related[r.Name] = objects(".related."+r.Name, c.object(r.APIVersion, r.Kind, ".related."+r.Name+"[]"))
	}
	all := map[string]*value.Value{}
	for key, of := range map[string]map[string]*value.Value{"children": children, "observed": observed, "related": related} {
		all[key] = &value.Value{Kinds: schema.Map, Keys: of, Open: true}
	}
	return all
}

// values returns spec.values.
func (c *checker) values() *value.Value {
	data := c.program.Values()
	if data == nil {
		data = map[string]any{}
	}
	return value.OfData(map[string]any(data), &value.Origin{Root: ".values", Source: value.FromValues, Items: map[uintptr]*value.Value{}})
}

// object returns an object of a kind.
func (c *checker) object(apiVersion, kind, root string) *value.Value {
	gv, err := gvk.ParseGroupVersion(apiVersion)
	if err != nil || c.known == nil {
		return value.OfKinds(schema.Map)
	}
	t, exists := c.known.Lookup(gv.WithKind(kind))
	if t == nil || !exists {
		if t = c.anyObject(); t == nil {
			return value.OfKinds(schema.Map)
		}
	}
	v := value.OfType(t, &value.Origin{Root: root, Object: kind, Type: t})
	v.Kinds = schema.Map
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

// childOf returns an object that the template of an entry yields.
func (c *checker) childOf(name string) *value.Value {
	if v := c.kinds[name]; v != nil {
		return v
	}
	v := c.yields(name)
	c.kinds[name] = v
	return v
}

// yields returns what the objects of an entry are, as far as its text shows their kinds.
func (c *checker) yields(name string) *value.Value {
	u := c.children[name]
	if u == nil {
		return value.OfKinds(schema.Map)
	}
	var all []*value.Value
	root := ".children." + name + "[]"
	for _, kind := range c.Skeleton(u).Kinds() {
		all = append(all, c.object(kind.GroupVersion().String(), kind.Kind, root))
	}
	if len(all) == 1 {
		return all[0]
	}
	v := c.object("", "", root)
	v.Origin = &value.Origin{Root: root, Object: "the object", Type: v.Type}
	v.Variants = all
	return v
}

// objects returns the objects of an entry, which templates see under a name.
func objects(name string, item *value.Value) *value.Value {
	v := value.ListOf(item)
	if item.Type != nil {
		v.Origin = &value.Origin{Root: name, Object: name, Type: &schema.Type{Kinds: schema.List, Items: item.Type}}
	}
	return v
}
