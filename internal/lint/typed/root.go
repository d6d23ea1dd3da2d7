package typed

import (
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
	return &value{kinds: mapping, keys: keys, open: true}
}

// values returns spec.values.
func (c *checker) values() *value {
	data := c.program.Values()
	if data == nil {
		data = map[string]any{}
	}
	return ofData(map[string]any(data), &origin{root: ".values", from: fromValues})
}

// object returns an object of a kind.
func (c *checker) object(apiVersion, kind, root string) *value {
	gv, err := gvk.ParseGroupVersion(apiVersion)
	if err != nil || c.known == nil {
		return ofKinds(mapping)
	}
	t, exists := c.known.Lookup(gv.WithKind(kind))
	if t == nil || !exists {
		return ofKinds(mapping)
	}
	o := &origin{root: root, object: kind, of: t, real: true}
	v := ofType(t, o)
	v.kinds = mapping
	return v
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

// yields returns what the objects of an entry are, if its text shows one kind and no other.
func (c *checker) yields(name string) *value {
	for _, u := range c.units.Children {
		if u.Text.Name != syntax.ChildName(name) {
			continue
		}
		kind, one := c.skeleton(u).kind()
		if !one {
			break
		}
		return c.object(kind.GroupVersion().String(), kind.Kind, ".children."+name+"[]")
	}
	return ofKinds(mapping)
}

// kind returns the kind of all documents, or false if they are of several kinds, or may be of others.
func (s skeleton) kind() (kind gvk.GroupVersionKind, one bool) {
	for i, d := range s.documents {
		found, ok := kindIn(d.root)
		if !ok || i > 0 && found != kind {
			return kind, false
		}
		kind = found
	}
	return kind, len(s.documents) > 0 && !s.others
}

// objects returns the objects of an entry, which templates see under a name.
func objects(name string, item *value) *value {
	v := listOf(item)
	if item.of != nil {
		v.origin = &origin{root: name, object: name, of: &schema.Type{Kinds: list, Items: item.of}}
	}
	return v
}
