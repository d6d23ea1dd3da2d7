package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func init() {
	g := group{source: "templater", rendered: syntax.Passes, nilOK: true}
	g.add(names("where"), 3, 3, "the objects of a list, the third argument, whose field at a path, the first, equals the second",
		func(c *call) any { return c.where(true) })
	g.add(names("whereNot"), 3, 3, "the objects whose field at a path does not equal the second argument",
		func(c *call) any { return c.where(false) })
	g.add(names("collect"), 2, 2, "the values at a path in the objects of a list; what is missing is left out", collect)
	g.add(names("sortBy"), 2, 2, "the objects of a list in the order of their values at a path", sortBy)
	g.add(names("named"), 2, 2, "the object of that metadata.name in a list, or nothing", named)
	g.add(names("condition"), 2, 2, `the status of an object's condition of that type, such as "True", or nothing`, condition)
	g.add(names("ready"), 1, 1, "whether the object is ready", ready)
}

// path returns argument 0 as the keys of a dotted path, in which ['a.b/c']
// stands for a key with dots.
func (c *call) path() []string {
	if c.args[0] == nil {
		c.fail("argument 1, a path, has no value")
		return nil
	}
	s := c.str(0)
	if !c.pay(budget.CostEntry * (strings.Count(s, ".") + strings.Count(s, "[") + 1)) {
		return nil
	}
	keys, ok := data.Path(s)
	if !ok {
		c.fail("argument 1 is not %s", data.APath)
	}
	return keys
}

// at returns the value at a path in an object, nil if it is missing.
func (c *call) at(object any, path []string) any {
	if !c.pay(budget.CostStep * len(path)) {
		return nil
	}
	v := c.scalarItem(object)
	for _, key := range path {
		switch m := v.(type) {
		case nil:
			return nil
		case map[string]any:
			v = c.scalarItem(m[key])
		case *data.Closed:
			v = c.lookup(m, key)
		default:
			return c.fail("the path leads into %s, which has no fields", token.KindOf(v))
		}
	}
	return v
}

func (c *call) where(wanted bool) any {
	path := c.path()
	return c.filter(2, func(object any) bool {
		return c.err == nil && c.same(c.at(object, path), c.args[1]) == wanted
	})
}

func collect(c *call) any {
	path := c.path()
	from := c.list(1)
	list := c.newList(len(from))
	for _, object := range from {
		if c.err != nil {
			return nil
		}
		if v := c.at(object, path); v != nil {
			list = append(list, v)
		}
	}
	return list
}

func sortBy(c *call) any {
	type keyed struct{ key, object any }
	path := c.path()
	from := c.list(1)
	if !c.pay(len(from) * budget.CostEntry) {
		return nil
	}
	all := make([]keyed, len(from))
	for i, object := range from {
		all[i] = keyed{c.scalarOf(c.at(object, path)), object}
	}
	if c.err != nil {
		return nil
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return c.order(a.key, b.key) })
	list := c.newList(len(all))
	for _, k := range all {
		if c.err == nil {
			list = append(list, k.object)
		}
	}
	return list
}

// order puts missing values first, then booleans, numbers, texts.
func (c *call) order(a, b any) int {
	c.pay(budget.CostStep)
	if byRank := cmp.Compare(rank(a), rank(b)); byRank != 0 {
		return byRank
	}
	switch a := a.(type) {
	case string:
		c.pay(min(len(a), len(b.(string))))
		return cmp.Compare(a, b.(string))
	case bool:
		return cmp.Compare(boolToInt(a), boolToInt(b.(bool)))
	case int64, float64:
		return compareNumbers(a, b)
	case nil:
		return 0
	}
	c.fail("the values at the path are lists or maps, which have no order")
	return 0
}

func rank(v any) int {
	switch v.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case int64, float64:
		return 2
	case string:
		return 3
	}
	return 4
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func named(c *call) any {
	for _, object := range c.list(1) {
		if c.same(c.at(object, []string{"metadata", "name"}), c.args[0]) {
			return object
		}
	}
	return nil
}

func condition(c *call) any {
	conditions, _ := c.at(c.args[1], []string{"status", "conditions"}).([]any)
	for _, entry := range conditions {
		if c.same(c.at(entry, []string{"type"}), c.args[0]) {
			return c.at(entry, []string{"status"})
		}
	}
	return nil
}

func ready(c *call) any {
	object := c.dict(0)
	if object == nil || c.x.in.Ready == nil {
		return false
	}
	c.pay(costReady)
	if c.payForAll(object["status"], 0); c.err != nil {
		return false
	}
	return c.x.in.Ready(object)
}

// payForAll pays for going through all of a value, as the answer of ready may
// take.
func (c *call) payForAll(v any, depth int) {
	if depth > budget.MaxDepth {
		c.failed(budget.ErrDeep)
	}
	if !c.pay(costEach) {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			c.payForAll(item, depth+1)
		}
	case map[string]any:
		for _, item := range v {
			c.payForAll(item, depth+1)
		}
	}
}
