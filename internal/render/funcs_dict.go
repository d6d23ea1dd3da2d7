package render

import (
	"maps"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func init() {
	p := group{source: "sprig", rendered: syntax.Passes}
	p.add(names("get"), 2, 2, "the value of a key, or nothing", func(c *call) any { return c.lookup(c.args[0], c.str(1)) })
	p.add(names("set"), 3, 3, "a copy of the map in which a key has a value", set)
	p.add(names("unset"), 2, 2, "a copy of the map without a key", func(c *call) any {
		m := c.cloneDict(0)
		delete(m, c.str(1))
		return m
	})
	p.add(names("hasKey"), 2, 2, "whether the map has a key", func(c *call) any {
		_, ok := c.dict(0)[c.str(1)]
		return ok
	})
	p.add(names("pluck"), 2, -1, "the values of a key in each of the maps that has it", pluck)
	p.add(names("pick"), 1, -1, "a map of only the keys given", pick)
	p.add(names("omit"), 1, -1, "a copy of the map without the keys given", omit)
	p.add(names("keys"), 1, -1, "the keys of the maps, in order", keys)
	p.add(names("values"), 1, 1, "the values of the map, in the order of its keys", values)
	p.add(names("merge", "mustMerge"), 1, -1, "a new map of all keys; earlier maps win", func(c *call) any { return mergeAll(c, false) })
	p.add(names("mergeOverwrite", "mustMergeOverwrite"), 1, -1, "a new map of all keys; later maps win",
		func(c *call) any { return mergeAll(c, true) })
	p.add(names("deepCopy", "mustDeepCopy"), 1, 1, "the value itself, for no function changes its arguments",
		func(c *call) any { return c.args[0] })
	p.add(names("dig"), 3, -1, "the value at a path of keys in the last argument, or else the default before it", dig)

	n := group{source: "sprig", rendered: syntax.Passes, nilOK: true}
	n.add(names("dict"), 0, -1, "a map of keys and values", dict)
	b := group{source: "text/template", rendered: syntax.Passes, nilOK: true}
	b.add(names("index"), 1, -1, "the value at a path of keys and positions, or nothing", index)
}

// lookup returns the value of a key that may come from data.
func (c *call) lookup(v any, key string) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		return v[key]
	case *data.Closed:
		if v.Check(key) != nil {
			return c.fail("there is no such key; look at what the template sees under %s", v.Prefix)
		}
		value, err := v.Get(key)
		c.failed(err)
		return value
	}
	return c.fail("%s has no keys", token.KindOf(v))
}

func set(c *call) any {
	m := c.cloneDict(1)
	if c.err == nil {
		m[c.str(1)] = c.args[2]
	}
	return m
}

func pluck(c *call) any {
	key := c.str(0)
	list := c.newList(len(c.args))
	for i := 1; i < len(c.args) && c.err == nil; i++ {
		if v, ok := c.dict(i)[key]; ok {
			list = append(list, v)
		}
	}
	return list
}

func pick(c *call) any {
	from, to := c.dict(0), c.newDict(len(c.args))
	for i := 1; i < len(c.args) && c.err == nil; i++ {
		key := c.str(i)
		if v, ok := from[key]; ok {
			to[key] = v
		}
	}
	return to
}

func omit(c *call) any {
	m := c.cloneDict(0)
	for i := 1; i < len(c.args); i++ {
		delete(m, c.str(i))
	}
	return m
}

func keys(c *call) any {
	var all []any
	for i := range c.args {
		for _, key := range c.keys(c.dict(i)) {
			all = append(all, key)
		}
	}
	return all
}

func values(c *call) any {
	m := c.dict(0)
	all := c.newList(len(m))
	for _, key := range c.keys(m) {
		all = append(all, m[key])
	}
	return all
}

// keys returns the keys of m in order, or none if they cannot be paid for.
func (c *call) keys(m map[string]any) []string {
	keys, err := data.Keys(m, &c.x.Meter)
	c.failed(err)
	return keys
}

func dict(c *call) any {
	if len(c.args)%2 != 0 {
		return c.fail("needs a value for each key")
	}
	m := c.newDict(len(c.args) / 2)
	for i := 0; i < len(c.args) && c.err == nil; i += 2 {
		if c.args[i] == nil {
			return c.fail("argument %d, a key, has no value", i+1)
		}
		m[c.str(i)] = c.args[i+1]
	}
	return m
}

// mergeAll merges maps within maps, too. It shares with its arguments what it
// does not merge.
func mergeAll(c *call, later bool) any {
	m := c.cloneDict(0)
	for i := 1; i < len(c.args) && c.err == nil; i++ {
		m = c.merge(m, c.dict(i), later, 0)
	}
	return m
}

// merge adds the entries of from to m, which is ours to change.
func (c *call) merge(m, from map[string]any, later bool, depth int) map[string]any {
	if depth > budget.MaxDepth {
		c.failed(budget.ErrDeep)
	}
	if !c.pay(len(from) * budget.CostEntry) {
		return m
	}
	for key, v := range from {
		old, there := m[key]
		oldMap, ok1 := old.(map[string]any)
		newMap, ok2 := v.(map[string]any)
		switch {
		case ok1 && ok2:
			if !c.pay(len(oldMap) * budget.CostEntry) {
				return m
			}
			m[key] = c.merge(maps.Clone(oldMap), newMap, later, depth+1)
		case !there || old == nil || later && v != nil:
			m[key] = v
		}
	}
	return m
}

func dig(c *call) any {
	last := len(c.args) - 1
	v := c.args[last]
	for i := range last - 1 {
		m, ok := v.(map[string]any)
		if !ok {
			if root, isClosed := v.(*data.Closed); isClosed {
				v = c.lookup(root, c.str(i))
				continue
			}
			return c.fail("on the way to argument %d is %s, not a map", i+1, token.KindOf(v))
		}
		if v, ok = m[c.str(i)]; !ok || v == nil {
			return c.args[last-1]
		}
	}
	return v
}

// index follows keys of maps and positions in lists. What is missing yields
// nothing.
func index(c *call) any {
	v := c.args[0]
	for i := 1; i < len(c.args) && c.err == nil; i++ {
		v = c.scalarItem(v)
		list, isList := v.([]any)
		switch {
		case v == nil:
			return nil
		case c.args[i] == nil:
			return c.fail("argument %d has no value", i+1)
		case isList:
			n := c.integer(i)
			if n < 0 {
				return c.fail("argument %d is negative", i+1)
			}
			v = itemOf(list, int(min(n, int64(len(list)))))
		case data.IsCollection(v):
			v = c.lookup(v, c.str(i))
		default:
			return c.fail("%s has no keys and positions", token.KindOf(v))
		}
	}
	return v
}
