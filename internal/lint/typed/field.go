package typed

import (
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
)

// field returns the value of a key of v, and notes what is wrong with asking for it.
func (c *checker) field(v *value.Value, key string, at value.Place) *value.Value {
	switch {
	case v.Kinds == schema.Null:
		return v
	case v.Kinds != 0 && v.Kinds&schema.Map == 0:
		return c.noMap(v, key, at)
	}
	found, known := v.Lookup(key)
	if !known {
		return c.unknown(v, key, at)
	}
	c.resolved(at)
	if c.collecting > 0 {
		c.test(found.Origin)
	}
	if c.labels[found.Origin.Step()] {
		found = found.Present()
	}
	return v.Reached(found, at)
}

// noMap notes that a key is asked of what has none.
func (c *checker) noMap(v *value.Value, key string, at value.Place) *value.Value {
	n := c.note(finding.NoFields, at)
	n.Origin, n.Key, n.Kinds = v.Origin, key, v.Kinds&^schema.Null
	if c.dead == 0 {
		n.Raise(finding.Warning)
	}
	if v.Kinds&schema.Null == 0 {
		c.fails(n)
	}
	return &value.Value{Kinds: schema.Null, Notes: []*value.Note{n}}
}

// unknown notes that a map cannot have a key.
func (c *checker) unknown(v *value.Value, key string, at value.Place) *value.Value {
	n := c.note(finding.UnknownField, at)
	n.Origin, n.In, n.Key = v.Origin, v, key
	switch {
	case v.Origin == nil:
	case v.Origin.Source == value.FromSchema, v.Origin.Source == value.FromValues && (c.dead == 0 || c.misspelled(n)):
		n.Raise(finding.Warning)
	}
	return &value.Value{Kinds: schema.Null, Notes: []*value.Note{n}}
}

// misspelled reports whether a key that a map cannot have is like one that it has.
func (c *checker) misspelled(n *value.Note) bool {
	return c.suggest.Nearest(n.Key, c.suggest.Keys(n.In)) != ""
}

// provided notes that a fallback or hasKey provides for a value that is missing: it is fine that spec.values does not have it, since an
// overlay may add it.
func (c *checker) provided(v *value.Value) {
	for _, n := range v.Notes {
		if n.Code == finding.UnknownField && n.Origin != nil && n.Origin.Source == value.FromValues && !c.misspelled(n) {
			c.resolved(n.At)
		}
	}
}
