package typed

import (
	"maps"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/signature"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
)

func dict(c *checker, call *invocation) *value.Value {
	if len(call.args)%2 != 0 {
		c.errorf(finding.Argument, c.at(call.name), "dict: needs a value for each key")
		return value.OfKinds(schema.Map)
	}
	v := &value.Value{Kinds: schema.Map, Keys: map[string]*value.Value{}, Origin: &value.Origin{Source: value.FromTemplate}}
	for i := 0; i < len(call.args); i += 2 {
		key := call.args[i]
		switch text, written := call.text(i); {
		case written:
			v.Keys[text] = call.args[i+1]
		case key.Kinds == schema.Null || key.Kinds != 0 && key.Kinds&value.Scalar == 0:
			c.argument(call, i, key, signature.Text)
			v.Open = true
		default:
			v.Open = true
		}
	}
	return v
}

// key returns the value of the key that argument i names in a map.
func (c *checker) key(call *invocation, v *value.Value, i int) *value.Value {
	key, written := call.text(i)
	if !written {
		switch {
		case v.Kinds == schema.Null:
			return v
		case v.Keys == nil && (v.Type == nil || v.Type.Fields == nil):
			return v.Each().Nullable()
		}
		return value.Anything
	}
	return c.field(v, key, c.argumentAt(call, i, key))
}

func get(c *checker, call *invocation) *value.Value { return c.key(call, call.args[0], 1) }

func hasKey(c *checker, call *invocation) *value.Value {
	v := call.args[0]
	if key, written := call.text(1); written {
		if _, known := v.Lookup(key); !known && v.Kinds == schema.Map {
			if c.depth == 0 || v.Origin != nil && v.Origin.Source == value.FromSchema {
				c.provided(c.key(call, v, 1))
			}
			return value.Literal(false)
		}
		c.key(call, v, 1)
	}
	return value.OfKinds(schema.Boolean)
}

// index follows keys of maps and positions in lists.
func index(c *checker, call *invocation) *value.Value {
	v := call.args[0]
	for i := 1; i < len(call.args); i++ {
		key := call.args[i]
		if v.Kinds == schema.Null {
			return v
		}
		bare := v.Kinds &^ schema.Null
		switch {
		case v.Kinds != 0 && bare&(schema.List|schema.Map) == 0:
			c.maybe(v.Kinds&schema.Null == 0, finding.NoFields, c.at(call.node(i)), "index: %s has no keys and positions", bare.Words())
			return value.Anything
		case key.Kinds == schema.Null:
			if v.Kinds&schema.Null == 0 && v.Kinds != 0 {
				c.lacksArgument(call, i, key)
			}
			return value.Anything
		case bare == schema.List:
			if fault := signature.Whole.Fault(key.Literal); fault != "" || !key.May(schema.String|value.Numeric) {
				c.maybe(v.Kinds&schema.Null == 0, finding.Argument, c.at(call.node(i)), "index: argument %d%s is no position in a list; write a number, or use named or where", i+1, call.words(i))
				return value.Anything
			}
			v = v.Each().Nullable()
		case bare == schema.Map:
			v = c.key(call, v, i)
		default:
			return value.Anything
		}
	}
	return v
}

func dig(c *checker, call *invocation) *value.Value {
	last := len(call.args) - 1
	v := call.args[last]
	if last < 2 {
		return value.Anything
	}
	if v.Kinds != 0 && v.Kinds&^schema.Null&schema.Map == 0 && v.Kinds != schema.Null {
		c.errorf(finding.Argument, c.at(call.node(last)), "dig: argument %d%s is %s, not a map; the map comes last, and the default before it", last+1, call.words(last), v.Kinds.Words())
		return value.Anything
	}
	for i := range last - 1 {
		if v = c.key(call, v, i); v.Kinds == schema.Null {
			return call.args[last-1]
		}
	}
	return value.Join(v.Present(), call.args[last-1])
}

func set(c *checker, call *invocation) *value.Value {
	v := call.args[0]
	key, written := call.text(1)
	if v.Keys == nil || !written {
		return value.OfKinds(schema.Map)
	}
	c.steps += len(v.Keys)
	w := *v
	w.Keys = maps.Clone(v.Keys)
	w.Keys[key] = call.args[2]
	return &w
}

// firstMap is for functions that yield a part of a map: it has no fields that the whole cannot have.
func firstMap(_ *checker, call *invocation) *value.Value {
	v := call.args[0]
	if v.Type == nil || v.Data != nil || v.Keys != nil {
		return value.OfKinds(schema.Map)
	}
	part := *v.Present()
	part.Kinds, part.Sparse = schema.Map, true
	return &part
}

func pluck(c *checker, call *invocation) *value.Value {
	for _, v := range call.args[1:] {
		c.key(call, v, 0)
	}
	return value.OfKinds(schema.List)
}

func valuesOf(c *checker, call *invocation) *value.Value {
	c.steps += len(call.args[0].Keys)
	return value.ListOf(call.args[0].RangeValue())
}
