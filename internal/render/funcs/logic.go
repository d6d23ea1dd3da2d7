package funcs

import (
	"cmp"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func equalsAny(c *data.Call) any {
	for i := 1; i < len(c.Args); i++ {
		if equal(c, 0, i) {
			return true
		}
	}
	return false
}

func coalesce(c *data.Call) any {
	for _, v := range c.Args {
		if !data.Empty(v, &c.Table) {
			return v
		}
	}
	return nil
}

func ternary(c *data.Call) any {
	if c.Args[2] != nil && c.Boolean(2) {
		return c.Args[0]
	}
	return c.Args[1]
}

func fallback(c *data.Call) any {
	if len(c.Args) < 2 || data.Empty(c.Args[1], &c.Table) {
		return c.Args[0]
	}
	return c.Args[1]
}

// count returns the number of arguments that are true.
func count(c *data.Call) int {
	n := 0
	for _, v := range c.Args {
		if data.Truth(v, &c.Table) {
			n++
		}
	}
	return n
}

func length(c *data.Call) any {
	switch v := c.Args[0].(type) {
	case []any:
		return len(v)
	case map[string]any:
		return len(v)
	case *data.Closed:
		return len(v.Names)
	}
	if !data.IsText(c.Args[0]) {
		return c.Fail("%s has no length", token.KindOf(c.Args[0]))
	}
	return len(c.Str(0))
}

// equal compares two arguments, which must be of the same kind. A missing value
// equals only a missing value.
func equal(c *data.Call, i, j int) bool {
	a, b := c.Scalar(i), c.Scalar(j)
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if data.IsCollection(a) || data.IsCollection(b) {
		c.Fail("cannot compare lists and maps; use deepEqual")
		return false
	}
	if token.KindOf(a) != token.KindOf(b) {
		c.Fail("cannot compare %s with %s; convert one of them with int, float64 or toString", token.KindOf(a), token.KindOf(b))
		return false
	}
	if isNumber(a) {
		return CompareNumbers(a, b) == 0
	}
	return a == b
}

// compare orders two numbers or two strings.
func compare(c *data.Call) int {
	a, b := c.Scalar(0), c.Scalar(1)
	switch {
	case isNumber(a) && isNumber(b):
		return CompareNumbers(a, b)
	case data.IsText(a) && data.IsText(b):
		return cmp.Compare(a.(string), b.(string))
	}
	c.Fail("cannot order %s and %s; convert one of them with int, float64 or toString", token.KindOf(a), token.KindOf(b))
	return 0
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

// CompareNumbers compares two numbers, each an int64 or a float64. It is exact if both are integers.
func CompareNumbers(a, b any) int {
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

// same reports whether two values are deeply equal. Values of different kinds
// never are.
func same(c *data.Call, a, b any) bool { return sameTo(c, a, b, 0) }

func sameTo(c *data.Call, a, b any, depth int) bool {
	if depth > budget.MaxDepth {
		c.FailWith(budget.ErrDeep)
	}
	if !c.Pay(budget.CostStep) {
		return false
	}
	a, b = c.ScalarOf(open(c, a)), c.ScalarOf(open(c, b))
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && sameLists(c, a, b, depth)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && sameMaps(c, a, b, depth)
	case int64, float64:
		return isNumber(b) && CompareNumbers(a, b) == 0
	case string:
		b, ok := b.(string)
		return ok && a == b
	}
	return a == b
}

// open returns a closed map as a plain map, and any other value unchanged.
func open(c *data.Call, v any) any {
	closed, ok := v.(*data.Closed)
	if !ok {
		return v
	}
	m, err := closed.All()
	c.FailWith(err)
	return m
}

func sameLists(c *data.Call, a, b []any, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameTo(c, a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

func sameMaps(c *data.Call, a, b map[string]any, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	// Sorted, so that it is deterministic whether a difference or an error is found first.
	for _, key := range c.Keys(a) {
		w, ok := b[key]
		if !ok || !sameTo(c, a[key], w, depth+1) {
			return false
		}
	}
	return true
}

// goKind names kinds as sprig does, for compatibility with existing templates.
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

func required(c *data.Call) any {
	if data.Empty(c.Args[1], &c.Table) {
		return stop(c, syntax.Fail)
	}
	return c.Args[1]
}

// stop ends rendering with the author's message, argument 0.
func stop(c *data.Call, reason syntax.Reason) any {
	if c.Args[0] == nil {
		return c.Fail("argument 1, the message, has no value")
	}
	message := c.Str(0)
	c.FailWith(&data.StopError{Reason: reason, Message: message})
	return nil
}
