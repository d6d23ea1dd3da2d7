package funcs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// pathOf parses argument 0 as a dotted path, in which ['a.b/c'] is a key with
// dots, and returns its keys.
func pathOf(c *data.Call) []string {
	if c.Args[0] == nil {
		c.Fail("argument 1, a path, has no value")
		return nil
	}
	s := c.Str(0)
	if !c.Pay(budget.CostEntry * (strings.Count(s, ".") + strings.Count(s, "[") + 1)) {
		return nil
	}
	keys, ok := data.Path(s)
	if !ok {
		c.Fail("argument 1 is not %s", data.APath)
	}
	return keys
}

// at returns the value at a path in an object, or nil if it is missing.
func at(c *data.Call, object any, path []string) any {
	if !c.Pay(budget.CostStep * len(path)) {
		return nil
	}
	v := c.Item(object)
	for _, key := range path {
		switch m := v.(type) {
		case nil:
			return nil
		case map[string]any:
			v = c.Item(m[key])
		case *data.Closed:
			v = lookup(c, m, key)
		default:
			return c.Fail("the path leads into %s, which has no fields", token.KindOf(v))
		}
	}
	return v
}

func where(c *data.Call, wanted bool) any {
	path := pathOf(c)
	return filter(c, 2, func(object any) bool {
		return c.Err == nil && same(c, at(c, object, path), c.Args[1]) == wanted
	})
}

func collect(c *data.Call) any {
	path := pathOf(c)
	from := c.List(1)
	list := c.NewList(len(from))
	for _, object := range from {
		if c.Err != nil {
			return nil
		}
		if v := at(c, object, path); v != nil {
			list = append(list, v)
		}
	}
	return list
}

func sortBy(c *data.Call) any {
	type keyed struct{ key, object any }
	path := pathOf(c)
	from := c.List(1)
	if !c.Pay(len(from) * budget.CostEntry) {
		return nil
	}
	all := make([]keyed, len(from))
	for i, object := range from {
		all[i] = keyed{c.ScalarOf(at(c, object, path)), object}
	}
	if c.Err != nil {
		return nil
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return order(c, a.key, b.key) })
	list := c.NewList(len(all))
	for _, k := range all {
		if c.Err == nil {
			list = append(list, k.object)
		}
	}
	return list
}

// order sorts missing values first, then booleans, numbers and strings.
func order(c *data.Call, a, b any) int {
	c.Pay(budget.CostStep)
	if byRank := cmp.Compare(rank(a), rank(b)); byRank != 0 {
		return byRank
	}
	switch a := a.(type) {
	case string:
		c.Pay(min(len(a), len(b.(string))))
		return cmp.Compare(a, b.(string))
	case bool:
		return cmp.Compare(boolToInt(a), boolToInt(b.(bool)))
	case int64, float64:
		return CompareNumbers(a, b)
	case nil:
		return 0
	}
	c.Fail("the values at the path are lists or maps, which have no order")
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

func named(c *data.Call) any {
	for _, object := range c.List(1) {
		if same(c, at(c, object, []string{"metadata", "name"}), c.Args[0]) {
			return object
		}
	}
	return nil
}

func condition(c *data.Call) any { return ofCondition(c, "status") }

func since(c *data.Call) any { return ofCondition(c, "lastTransitionTime") }

// ofCondition returns a field of the condition whose type is argument 0.
func ofCondition(c *data.Call, field string) any {
	conditions, _ := at(c, c.Args[1], []string{"status", "conditions"}).([]any)
	for _, entry := range conditions {
		if same(c, at(c, entry, []string{"type"}), c.Args[0]) {
			return at(c, entry, []string{field})
		}
	}
	return nil
}

func ready(c *data.Call) any {
	object := c.Dict(0)
	if object == nil || c.Ready == nil {
		return false
	}
	if payForAll(c, object["status"], 0); c.Err != nil {
		return false
	}
	return c.Ready(object)
}

// payForAll charges for visiting everything in v, as c.Ready may do.
func payForAll(c *data.Call, v any, depth int) {
	if depth > budget.MaxDepth {
		c.FailWith(budget.ErrDeep)
	}
	if !c.Pay(costEach) {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			payForAll(c, item, depth+1)
		}
	case map[string]any:
		for _, item := range v {
			payForAll(c, item, depth+1)
		}
	}
}

// logs returns the logs of a Pod by container. They are data, like the fields of any object.
func logs(c *data.Call) any {
	pod := c.Dict(0)
	switch {
	case c.Err != nil:
		return nil
	case pod == nil:
		return map[string]any{}
	case c.Logs == nil:
		return c.Fail("%s", syntax.NoLogs)
	}
	texts, err := c.Logs(pod)
	if c.FailBecause(err); c.Err != nil {
		return nil
	}
	m := c.NewDict(len(texts))
	for container, text := range texts {
		if !c.Pay(len(container) + len(text)) {
			return nil
		}
		m[container] = text
	}
	return m
}
