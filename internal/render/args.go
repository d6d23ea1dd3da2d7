package render

import (
	"math"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/token"
)

// str returns argument i as text: the characters of a string, the decimal of
// a number, true or false.
func (c *call) str(i int) string { return c.strOf(c.args[i], i) }

// strOf returns v, which is argument i or an item of it, as text.
func (c *call) strOf(v any, i int) string {
	switch v := v.(type) {
	case string:
		c.pay(len(v))
		return v
	case token.Derived:
		c.derived = true
		c.pay(len(v))
		return string(v)
	case token.Rendered:
		c.derived = true
		s, err := c.x.Expand(v)
		c.failed(err)
		return s
	case bool:
		return strconv.FormatBool(v)
	case int64, float64:
		return token.ScalarText(v)
	}
	c.fail("argument %d is %s, not text; toJson makes text of it", i+1, token.KindOf(v))
	return ""
}

// scalar returns argument i without rendered or derived text.
func (c *call) scalar(i int) any { return c.scalarOf(c.args[i]) }

func (c *call) scalarOf(v any) any {
	switch s := v.(type) {
	case string:
		c.pay(len(s))
		return v
	case token.Derived, token.Rendered:
		return c.strOf(v, 0)
	}
	n, err := data.Normal(v)
	c.failed(err)
	return n
}

// integer returns argument i as an integer. A number must be whole, a text a
// decimal number.
func (c *call) integer(i int) int64 {
	switch v := c.scalar(i).(type) {
	case int64:
		return v
	case float64:
		if n, ok := wholeNumber(v); ok {
			return n
		}
		c.fail("argument %d is not a whole number; %s", i+1, fractions(c.f.Name))
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		if err != nil {
			c.fail("argument %d is text that is not a whole decimal number", i+1)
		}
		return n
	default:
		c.fail("argument %d is %s, not a number", i+1, token.KindOf(v))
	}
	return 0
}

// wholeNumber converts a float64 that an int64 holds exactly.
func wholeNumber(f float64) (int64, bool) {
	if f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// float returns argument i as a finite floating point number.
func (c *call) float(i int) float64 {
	switch v := c.scalar(i).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
		if err != nil || strings.ContainsAny(v, "_xX") || math.IsNaN(f) || math.IsInf(f, 0) {
			c.fail("argument %d is text that is not a number", i+1)
		}
		return f
	default:
		c.fail("argument %d is %s, not a number", i+1, token.KindOf(v))
	}
	return 0
}

// boolean returns argument i, which must be true or false.
func (c *call) boolean(i int) bool {
	b, ok := c.args[i].(bool)
	if !ok {
		c.fail("argument %d is %s, not a boolean", i+1, token.KindOf(c.args[i]))
	}
	return b
}

// list returns argument i, which must be a list. It must not be changed.
func (c *call) list(i int) []any {
	switch v := c.args[i].(type) {
	case []any:
		c.pay(len(v))
		return v
	case nil:
		return nil
	}
	c.fail("argument %d is %s, not a list", i+1, token.KindOf(c.args[i]))
	return nil
}

// dict returns argument i, which must be a map. It must not be changed.
func (c *call) dict(i int) map[string]any {
	switch v := c.args[i].(type) {
	case map[string]any:
		return v
	case *data.Closed:
		m, err := v.All()
		c.failed(err)
		return m
	case nil:
		return nil
	}
	c.fail("argument %d is %s, not a map", i+1, token.KindOf(c.args[i]))
	return nil
}

// newList returns an empty list with room for n items, or nil if n items
// cannot be paid for.
func (c *call) newList(n int) []any {
	if !c.payFor(n, budget.CostItem) {
		return nil
	}
	return make([]any, 0, n)
}

// newDict returns an empty map with room for n entries, or nil if they cannot
// be paid for.
func (c *call) newDict(n int) map[string]any {
	if !c.payFor(n, budget.CostEntry) {
		return nil
	}
	return make(map[string]any, n)
}

// cloneDict returns a copy of argument 0 with room for n more entries. What
// its keys hold is shared.
func (c *call) cloneDict(n int) map[string]any {
	from := c.dict(0)
	to := c.newDict(len(from) + n)
	if c.err != nil {
		return nil
	}
	for k, v := range from {
		to[k] = v
	}
	return to
}

// payFor pays for n times a number of units.
func (c *call) payFor(n, units int) bool {
	c.failed(c.x.ChargeFor(n, units))
	return c.err == nil
}

func hasLineEnd(s string) bool { return strings.IndexByte(s, '\n') >= 0 }
