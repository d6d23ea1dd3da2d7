package data

import (
	"math"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// Str returns argument i as text: the characters of a string, the decimal of
// a number, true or false.
func (c *Call) Str(i int) string { return c.StrOf(c.Args[i], i) }

// StrOf returns v, which is argument i or an item of it, as text.
func (c *Call) StrOf(v any, i int) string {
	switch v := v.(type) {
	case string:
		c.Pay(len(v))
		return v
	case token.Derived:
		c.derived = true
		c.Pay(len(v))
		return string(v)
	case token.Rendered:
		c.derived = true
		s, err := c.Expand(v)
		c.FailWith(err)
		return s
	case bool:
		return strconv.FormatBool(v)
	case int64, float64:
		return token.ScalarText(v)
	}
	c.Fail("argument %d is %s, not text; convert it with toJson", i+1, token.KindOf(v))
	return ""
}

// Scalar returns argument i without rendered or derived text.
func (c *Call) Scalar(i int) any { return c.ScalarOf(c.Args[i]) }

// ScalarOf returns v, which is an argument or an item of it, without rendered or derived text.
func (c *Call) ScalarOf(v any) any {
	switch s := v.(type) {
	case string:
		c.Pay(len(s))
		return v
	case token.Derived, token.Rendered:
		return c.StrOf(v, 0)
	}
	return c.Item(v)
}

// Integer returns argument i as an integer. A number must be whole, a text a
// decimal number.
func (c *Call) Integer(i int) int64 {
	switch v := c.Scalar(i).(type) {
	case int64:
		return v
	case float64:
		if n, ok := WholeNumber(v); ok {
			return n
		}
		c.Fail("argument %d is not a whole number; %s", i+1, c.fractions())
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			c.Fail("argument %d is text that is not a whole decimal number", i+1)
		}
		return n
	default:
		c.Fail("argument %d is %s, not a number", i+1, token.KindOf(v))
	}
	return 0
}

// WholeNumber converts a float64 that an int64 can represent exactly.
func WholeNumber(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// Float returns argument i as a finite floating point number.
func (c *Call) Float(i int) float64 {
	switch v := c.Scalar(i).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || strings.ContainsAny(v, "_xX") || math.IsNaN(f) || math.IsInf(f, 0) {
			c.Fail("argument %d is text that is not a number", i+1)
		}
		return f
	default:
		c.Fail("argument %d is %s, not a number", i+1, token.KindOf(v))
	}
	return 0
}

// Boolean returns argument i, which must be true or false.
func (c *Call) Boolean(i int) bool {
	b, ok := c.Args[i].(bool)
	if !ok {
		c.Fail("argument %d is %s, not a boolean", i+1, token.KindOf(c.Args[i]))
	}
	return b
}

// List returns argument i, which must be a list. Do not modify it.
func (c *Call) List(i int) []any {
	switch v := c.Args[i].(type) {
	case []any:
		c.Pay(len(v))
		return v
	case nil:
		return nil
	}
	c.Fail("argument %d is %s, not a list", i+1, token.KindOf(c.Args[i]))
	return nil
}

// Dict returns argument i, which must be a map. Do not modify it.
func (c *Call) Dict(i int) map[string]any {
	switch v := c.Args[i].(type) {
	case map[string]any:
		return v
	case *Closed:
		m, err := v.All()
		c.FailWith(err)
		return m
	case nil:
		return nil
	}
	c.Fail("argument %d is %s, not a map", i+1, token.KindOf(c.Args[i]))
	return nil
}

// NewList returns an empty list with a capacity of n items, or nil if the budget is exceeded.
func (c *Call) NewList(n int) []any {
	if !c.PayFor(n, budget.CostItem) {
		return nil
	}
	return make([]any, 0, n)
}

// NewDict returns an empty map with room for n entries, or nil if the budget is exceeded.
func (c *Call) NewDict(n int) map[string]any {
	if !c.PayFor(n, budget.CostEntry) {
		return nil
	}
	return make(map[string]any, n)
}

// CloneDict returns a shallow copy of argument 0 with room for n more entries.
func (c *Call) CloneDict(n int) map[string]any {
	from := c.Dict(0)
	to := c.NewDict(len(from) + n)
	if c.Err != nil {
		return nil
	}
	for k, v := range from {
		to[k] = v
	}
	return to
}

// Item returns an item of a list, or an entry of a map, converted by Normal.
func (c *Call) Item(v any) any {
	n, err := Normal(v)
	c.FailWith(err)
	return n
}

// Keys returns the sorted keys of m, or nil if the budget is exceeded.
func (c *Call) Keys(m map[string]any) []string {
	keys, err := Keys(m, &c.Meter)
	c.FailWith(err)
	return keys
}

// fractions returns advice about a number that a function for integers does not accept.
func (c *Call) fractions() string {
	const cutOff = "int drops its fraction"
	if c.f.Fractions != "" {
		return cutOff + ", and " + c.f.Fractions + " takes it as it is"
	}
	return cutOff
}
