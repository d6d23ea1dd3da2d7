package typed

import (
	"maps"

	"github.com/templater-dev/templater/internal/finding"
)

func dict(c *checker, call *invocation) *value {
	if len(call.args)%2 != 0 {
		c.errorf(finding.Argument, c.at(call.name), "dict: needs a value for each key")
		return ofKinds(mapping)
	}
	v := &value{kinds: mapping, keys: map[string]*value{}, origin: &origin{from: fromTemplate}}
	for i := 0; i < len(call.args); i += 2 {
		key := call.args[i]
		switch text, written := call.text(i); {
		case written:
			v.keys[text] = call.args[i+1]
		case key.kinds == null || key.kinds != 0 && key.kinds&scalar == 0:
			c.argument(call, i, key, params['t'])
			v.open = true
		default:
			v.open = true
		}
	}
	return v
}

// key returns the value of the key that argument i names in a map.
func (c *checker) key(call *invocation, v *value, i int) *value {
	key, written := call.text(i)
	if !written {
		switch {
		case v.kinds == null:
			return v
		case v.keys == nil && (v.of == nil || v.of.Fields == nil):
			return v.each().nullable()
		}
		return anything
	}
	return c.field(v, key, c.argumentAt(call, i, key))
}

func get(c *checker, call *invocation) *value { return c.key(call, call.args[0], 1) }

func hasKey(c *checker, call *invocation) *value {
	v := call.args[0]
	if key, written := call.text(1); written {
		if _, known := v.lookup(key); !known && v.kinds == mapping {
			if c.depth == 0 || v.origin != nil && v.origin.from == fromSchema {
				c.key(call, v, 1)
			}
			return literal(false)
		}
		c.key(call, v, 1)
	}
	return ofKinds(boolean)
}

// index follows keys of maps and positions in lists.
func index(c *checker, call *invocation) *value {
	v := call.args[0]
	for i := 1; i < len(call.args); i++ {
		key := call.args[i]
		if v.kinds == null {
			return v
		}
		bare := v.kinds &^ null
		switch {
		case v.kinds != 0 && bare&(list|mapping) == 0:
			c.maybe(v.kinds&null == 0, finding.NoFields, c.at(call.node(i)), "index: %s has no keys and positions", bare.Words())
			return anything
		case key.kinds == null:
			if v.kinds&null == 0 && v.kinds != 0 {
				c.lacksArgument(call, i, key)
			}
			return anything
		case bare == list:
			if fault := params['i'].fault(key.lit); fault != "" || !key.may(str|number) {
				c.maybe(v.kinds&null == 0, finding.Argument, c.at(call.node(i)), "index: argument %d%s is no position in a list; write a number, or use named or where", i+1, call.words(i))
				return anything
			}
			v = v.each().nullable()
		case bare == mapping:
			v = c.key(call, v, i)
		default:
			return anything
		}
	}
	return v
}

func dig(c *checker, call *invocation) *value {
	last := len(call.args) - 1
	v := call.args[last]
	if last < 2 {
		return anything
	}
	if v.kinds != 0 && v.kinds&^null&mapping == 0 && v.kinds != null {
		c.errorf(finding.Argument, c.at(call.node(last)), "dig: argument %d%s is %s, not a map; the map comes last, and the default before it", last+1, call.words(last), v.kinds.Words())
		return anything
	}
	for i := range last - 1 {
		if v = c.key(call, v, i); v.kinds == null {
			return call.args[last-1]
		}
	}
	return join(v.present(), call.args[last-1])
}

func set(c *checker, call *invocation) *value {
	v := call.args[0]
	key, written := call.text(1)
	if v.keys == nil || !written {
		return ofKinds(mapping)
	}
	c.steps += len(v.keys)
	w := *v
	w.keys = maps.Clone(v.keys)
	w.keys[key] = call.args[2]
	return &w
}

// firstMap is for functions that yield a part of a map: it has no fields that the whole cannot have.
func firstMap(_ *checker, call *invocation) *value {
	v := call.args[0]
	if v.of == nil || v.data != nil || v.keys != nil {
		return ofKinds(mapping)
	}
	part := *v.present()
	part.kinds, part.sparse = mapping, true
	return &part
}

func pluck(c *checker, call *invocation) *value {
	for _, v := range call.args[1:] {
		c.key(call, v, 0)
	}
	return ofKinds(list)
}

func valuesOf(c *checker, call *invocation) *value {
	c.steps += len(call.args[0].keys)
	return listOf(call.args[0].items())
}
