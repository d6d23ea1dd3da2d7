package render

import (
	"cmp"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func init() {
	b := group{source: "text/template", rendered: syntax.Expands, nilOK: true}
	b.add(names("eq"), 2, -1, "whether the first argument equals any of the others", func(c *call) any {
		for i := 1; i < len(c.args); i++ {
			if c.equal(0, i) {
				return true
			}
		}
		return false
	})
	b.add(names("ne"), 2, 2, "whether the arguments differ", func(c *call) any { return !c.equal(0, 1) })
	b.add(names("not"), 1, 1, "whether the argument is false, 0, empty or missing", func(c *call) any { return !data.Truth(c.args[0], &c.x.Table) })
	lazy := group{source: "text/template", rendered: syntax.Passes, nilOK: true}
	lazy.add(names("and"), 1, -1, "the first argument that is not true, or the last", nil)
	lazy.add(names("or"), 1, -1, "the first argument that is true, or the last", nil)
	functions["and"].lazy, functions["or"].lazy = lazyAnd, lazyOr

	o := group{source: "text/template", rendered: syntax.Expands}
	o.add(names("lt"), 2, 2, "whether the first argument is less than the second", func(c *call) any { return c.compare() < 0 })
	o.add(names("le"), 2, 2, "whether the first argument is at most the second", func(c *call) any { return c.compare() <= 0 })
	o.add(names("gt"), 2, 2, "whether the first argument is greater than the second", func(c *call) any { return c.compare() > 0 })
	o.add(names("ge"), 2, 2, "whether the first argument is at least the second", func(c *call) any { return c.compare() >= 0 })
	o.add(names("len"), 1, 1, "the number of items, entries or bytes", length)

	n := group{source: "sprig", rendered: syntax.Passes, nilOK: true}
	n.add(names("default"), 1, 2, `the second argument, or the first if the second is missing, "", [] or {}; 0 and false stay`, fallback)
	n.add(names("coalesce"), 0, -1, "the first argument that is not empty, or nothing", func(c *call) any {
		for _, v := range c.args {
			if !data.Empty(v, &c.x.Table) {
				return v
			}
		}
		return nil
	})
	n.add(names("ternary"), 3, 3, "the first argument if the third is true, else the second", func(c *call) any {
		if c.args[2] != nil && c.boolean(2) {
			return c.args[0]
		}
		return c.args[1]
	})
	e := group{source: "sprig", rendered: syntax.Expands, nilOK: true}
	e.add(names("empty"), 1, 1, `whether the argument is missing, "", [] or {}`, func(c *call) any { return data.Empty(c.args[0], &c.x.Table) })
	s := group{source: "sprig", rendered: syntax.Expands}
	s.add(names("all"), 0, -1, "whether if takes all arguments as true", func(c *call) any { return c.count() == len(c.args) })
	s.add(names("any"), 0, -1, "whether if takes an argument as true", func(c *call) any { return c.count() > 0 })
	s.add(names("deepEqual"), 2, 2, "whether the arguments are equal, with all they contain", func(c *call) any {
		return c.same(c.args[0], c.args[1])
	})
	s.add(names("kindOf"), 1, 1, "string, bool, int64, float64, slice or map", func(c *call) any { return goKind(c.args[0]) })
	s.add(names("kindIs"), 2, 2, "whether the kind of the second argument is the first", func(c *call) any {
		return c.str(0) == goKind(c.args[1])
	})
	s.add(names("typeOf"), 1, 1, "the Go type", func(c *call) any { return goType(c.args[0]) })
	s.add(names("typeIs", "typeIsLike"), 2, 2, "whether the Go type of the second argument is the first", func(c *call) any {
		return c.str(0) == goType(c.args[1])
	})
}

func fallback(c *call) any {
	if len(c.args) < 2 || data.Empty(c.args[1], &c.x.Table) {
		return c.args[0]
	}
	return c.args[1]
}

// count returns how many arguments are true.
func (c *call) count() int {
	n := 0
	for _, v := range c.args {
		if data.Truth(v, &c.x.Table) {
			n++
		}
	}
	return n
}

func length(c *call) any {
	switch v := c.args[0].(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	case *data.Closed:
		return len(v.Names)
	}
	if !data.IsText(c.args[0]) {
		return c.fail("%s has no length", token.KindOf(c.args[0]))
	}
	return len(c.str(0))
}

// equal compares two arguments that must be of one kind. Nothing equals only
// nothing.
func (c *call) equal(i, j int) bool {
	a, b := c.scalar(i), c.scalar(j)
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if data.IsCollection(a) || data.IsCollection(b) {
		c.fail("cannot compare lists and maps; use deepEqual")
		return false
	}
	if token.KindOf(a) != token.KindOf(b) {
		c.fail("cannot compare %s with %s; int, float64 and toString convert", token.KindOf(a), token.KindOf(b))
		return false
	}
	if isNumber(a) {
		return compareNumbers(a, b) == 0
	}
	return a == b
}

// compare orders two numbers or two texts.
func (c *call) compare() int {
	a, b := c.scalar(0), c.scalar(1)
	switch {
	case isNumber(a) && isNumber(b):
		return compareNumbers(a, b)
	case data.IsText(a) && data.IsText(b):
		return cmp.Compare(a.(string), b.(string))
	}
	c.fail("cannot order %s and %s; int, float64 and toString convert", token.KindOf(a), token.KindOf(b))
	return 0
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

// compareNumbers compares exactly where both are integers.
func compareNumbers(a, b any) int {
	m, ok1 := a.(int64)
	n, ok2 := b.(int64)
	if ok1 && ok2 {
		return cmp.Compare(m, n)
	}
	return cmp.Compare(asFloat(a), asFloat(b))
}

func asFloat(v any) float64 {
	if n, ok := v.(int64); ok {
		return float64(n)
	}
	return v.(float64)
}

// same reports whether two values are equal with all they contain. Values of
// different kinds are not.
func (c *call) same(a, b any) bool { return c.sameTo(a, b, 0) }

func (c *call) sameTo(a, b any, depth int) bool {
	if depth > budget.MaxDepth {
		c.failed(budget.ErrDeep)
	}
	if !c.pay(budget.CostStep) {
		return false
	}
	a, b = c.scalarOf(open(c, a)), c.scalarOf(open(c, b))
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && c.sameLists(a, b, depth)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && c.sameMaps(a, b, depth)
	case int64, float64:
		return isNumber(b) && compareNumbers(a, b) == 0
	case string:
		b, ok := b.(string)
		return ok && a == b
	}
	return a == b
}

// open returns the map that a closed map stands for.
func open(c *call, v any) any {
	closed, ok := v.(*data.Closed)
	if !ok {
		return v
	}
	m, err := closed.All()
	c.failed(err)
	return m
}

func (c *call) sameLists(a, b []any, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !c.sameTo(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func (c *call) sameMaps(a, b map[string]any, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	// In order: what is found first decides between an answer and an error.
	for _, key := range c.keys(a) {
		w, ok := b[key]
		if !ok || !c.sameTo(a[key], w, depth+1) {
			return false
		}
	}
	return true
}

// goKind names kinds as sprig does, so that templates from elsewhere work.
func goKind(v any) string {
	switch v.(type) {
	case bool:
		return "bool"
	case int64:
		return "int64"
	case float64:
		return "float64"
	case []any:
		return "slice"
	case map[string]any, *data.Closed:
		return "map"
	}
	return "string"
}

func goType(v any) string {
	switch goKind(v) {
	case "slice":
		return "[]interface {}"
	case "map":
		return "map[string]interface {}"
	}
	return goKind(v)
}
