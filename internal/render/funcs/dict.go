package funcs

import (
	"maps"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/token"
)

func unset(c *data.Call) any {
	m := c.CloneDict(0)
	delete(m, c.Str(1))
	return m
}

func hasKey(c *data.Call) any {
	_, ok := c.Dict(0)[c.Str(1)]
	return ok
}

// lookup returns the value of key, which may come from data, in a map; nil if v is nil.
func lookup(c *data.Call, v any, key string) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		return v[key]
	case *data.Closed:
		if v.Check(key) != nil {
			return c.Fail("no such key; check what the template can read below %s", v.Prefix)
		}
		value, err := v.Get(key)
		c.FailWith(err)
		return value
	}
	return c.Fail("%s has no keys", token.KindOf(v))
}

func set(c *data.Call) any {
	m := c.CloneDict(1)
	if c.Err == nil {
		m[c.Str(1)] = c.Args[2]
	}
	return m
}

func pluck(c *data.Call) any {
	key := c.Str(0)
	list := c.NewList(len(c.Args))
	for i := 1; i < len(c.Args) && c.Err == nil; i++ {
		if v, ok := c.Dict(i)[key]; ok {
			list = append(list, v)
		}
	}
	return list
}

func pick(c *data.Call) any {
	from, to := c.Dict(0), c.NewDict(len(c.Args))
	for i := 1; i < len(c.Args) && c.Err == nil; i++ {
		key := c.Str(i)
		if v, ok := from[key]; ok {
			to[key] = v
		}
	}
	return to
}

func omit(c *data.Call) any {
	m := c.CloneDict(0)
	for i := 1; i < len(c.Args); i++ {
		delete(m, c.Str(i))
	}
	return m
}

func keys(c *data.Call) any {
	var all []any
	for i := range c.Args {
		for _, key := range c.Keys(c.Dict(i)) {
			all = append(all, key)
		}
	}
	return all
}

func values(c *data.Call) any {
	m := c.Dict(0)
	all := c.NewList(len(m))
	for _, key := range c.Keys(m) {
		all = append(all, m[key])
	}
	return all
}

func dict(c *data.Call) any {
	if len(c.Args)%2 != 0 {
		return c.Fail("needs a value for each key")
	}
	m := c.NewDict(len(c.Args) / 2)
	for i := 0; i < len(c.Args) && c.Err == nil; i += 2 {
		if c.Args[i] == nil {
			return c.Fail("argument %d, a key, has no value", i+1)
		}
		m[c.Str(i)] = c.Args[i+1]
	}
	return m
}

// mergeAll merges nested maps, too. The result shares values that are not
// merged with the arguments.
func mergeAll(c *data.Call, later bool) any {
	m := c.CloneDict(0)
	for i := 1; i < len(c.Args) && c.Err == nil; i++ {
		m = merge(c, m, c.Dict(i), later, 0)
	}
	return m
}

// merge adds the entries of from to m, which the caller must own.
func merge(c *data.Call, m, from map[string]any, later bool, depth int) map[string]any {
	if depth > budget.MaxDepth {
		c.FailWith(budget.ErrDeep)
	}
	if !c.Pay(len(from) * budget.CostEntry) {
		return m
	}
	for key, v := range from {
		old, there := m[key]
		oldMap, ok1 := old.(map[string]any)
		newMap, ok2 := v.(map[string]any)
		switch {
		case ok1 && ok2:
			if !c.Pay(len(oldMap) * budget.CostEntry) {
				return m
			}
			m[key] = merge(c, maps.Clone(oldMap), newMap, later, depth+1)
		case !there || old == nil || later && v != nil:
			m[key] = v
		}
	}
	return m
}

func dig(c *data.Call) any {
	last := len(c.Args) - 1
	v := c.Args[last]
	for i := range last - 1 {
		m, ok := v.(map[string]any)
		if !ok {
			if root, isClosed := v.(*data.Closed); isClosed {
				v = lookup(c, root, c.Str(i))
				continue
			}
			return c.Fail("the value on the path to argument %d is %s, not a map", i+1, token.KindOf(v))
		}
		if v, ok = m[c.Str(i)]; !ok || v == nil {
			return c.Args[last-1]
		}
	}
	return v
}

// index follows map keys and list positions. It returns nil for a missing
// value.
func index(c *data.Call) any {
	v := c.Args[0]
	for i := 1; i < len(c.Args) && c.Err == nil; i++ {
		v = c.Item(v)
		list, isList := v.([]any)
		switch {
		case v == nil:
			return nil
		case c.Args[i] == nil:
			return c.Fail("argument %d has no value", i+1)
		case isList:
			n := c.Integer(i)
			if n < 0 {
				return c.Fail("argument %d is negative", i+1)
			}
			v = itemOf(list, int(min(n, int64(len(list)))))
		case data.IsCollection(v):
			v = lookup(c, v, c.Str(i))
		default:
			return c.Fail("%s has no keys or positions", token.KindOf(v))
		}
	}
	return v
}
