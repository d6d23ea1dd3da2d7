package funcs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/token"
)

func reverse(c *data.Call) any {
	list := listOf(c, c.List(0), nil)
	slices.Reverse(list)
	return list
}

// listOf returns a new list of the items of a and b.
func listOf(c *data.Call, a, b []any) []any {
	list := c.NewList(len(a) + len(b))
	if list == nil {
		return nil
	}
	return append(append(list, a...), b...)
}

func concat(c *data.Call) any {
	size := 0
	for i := range c.Args {
		size += len(c.List(i))
	}
	list := c.NewList(size)
	for i := range c.Args {
		if c.Err == nil {
			list = append(list, c.List(i)...)
		}
	}
	return list
}

// itemOf returns the item at index i, or nil if there is none. A negative i
// counts from the end.
func itemOf(list []any, i int) any {
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// part returns argument 0 without its first head and last tail items.
func part(c *data.Call, head, tail int) any {
	list := c.List(0)
	if len(list) < head+tail {
		return []any{}
	}
	return listOf(c, list[head:len(list)-tail], nil)
}

// filter returns the items of argument i for which do returns true.
func filter(c *data.Call, i int, do func(any) bool) []any {
	from := c.List(i)
	list := c.NewList(len(from))
	if c.Err != nil {
		return nil
	}
	for _, v := range from {
		if do(v) {
			list = append(list, v)
		}
	}
	return list
}

func uniq(c *data.Call) any {
	var seen []any
	return filter(c, 0, func(v any) bool {
		if c.Err != nil || slices.ContainsFunc(seen, func(s any) bool { return same(c, s, v) }) {
			return false
		}
		seen = append(seen, v)
		return true
	})
}

func without(c *data.Call) any {
	return filter(c, 0, func(v any) bool {
		return !slices.ContainsFunc(c.Args[1:], func(o any) bool { return same(c, o, v) })
	})
}

// slice supports lists, like sprig's slice, and strings, like text/template's.
func slice(c *data.Call) any {
	if data.IsText(c.Args[0]) {
		s := c.Str(0)
		from, to := bounds(c, len(s))
		if c.Err != nil {
			return nil
		}
		if c.Derived() && data.HasLineEnd(s[from:to]) {
			return token.Derived(s[from:to])
		}
		return s[from:to]
	}
	list := c.List(0)
	from, to := bounds(c, len(list))
	if c.Err != nil {
		return nil
	}
	return listOf(c, list[from:to], nil)
}

// bounds returns arguments 1 and 2 as positions in a list or string of the given length.
func bounds(c *data.Call, length int) (from, to int) {
	bounds := [2]int{0, length}
	for i := 1; i < len(c.Args); i++ {
		n := c.Integer(i)
		if n < 0 || n > int64(length) {
			c.Fail("argument %d is out of range", i+1)
			return 0, 0
		}
		bounds[i-1] = int(n)
	}
	if bounds[0] > bounds[1] {
		c.Fail("argument 2 is greater than argument 3")
		return 0, 0
	}
	return bounds[0], bounds[1]
}

func chunk(c *data.Call) any {
	size, list := c.Integer(0), c.List(1)
	if size < 1 {
		return c.Fail("argument 1 must be at least 1")
	}
	step := int(min(size, int64(len(list))+1))
	chunks := c.NewList(len(list)/step + 1)
	for from := 0; from < len(list) && c.Err == nil; from += step {
		chunks = append(chunks, listOf(c, list[from:min(from+step, len(list))], nil))
	}
	return chunks
}

// texts returns the items of argument i as strings.
func texts(c *data.Call, i int) []string {
	from := c.List(i)
	if !c.Pay(len(from) * budget.CostItem) {
		return nil
	}
	parts := make([]string, len(from))
	for j, v := range from {
		if v == nil {
			c.Fail("item %d of argument %d has no value", j, i+1)
		} else {
			parts[j] = c.StrOf(c.Item(v), i)
		}
	}
	return parts
}

// joinList also accepts a single string, like sprig's join.
func joinList(c *data.Call) any {
	if _, isList := c.Args[1].([]any); !isList {
		return c.Str(1)
	}
	return join(c, texts(c, 1), c.Str(0))
}

func sortAlpha(c *data.Call) any {
	parts := texts(c, 0)
	slices.Sort(parts)
	return stringList(c, parts)
}

// stringList returns parts as a list.
func stringList(c *data.Call, parts []string) any {
	list := c.NewList(len(parts))
	if c.Err != nil {
		return nil
	}
	for _, p := range parts {
		list = append(list, p)
	}
	return list
}

// splitParts splits s into at most n parts, or all if n is negative, and
// charges for them.
func splitParts(c *data.Call, sep, s string, n int) []string {
	if !c.Pay(len(s)) {
		return nil
	}
	parts := len(s)
	if sep != "" {
		parts = strings.Count(s, sep) + 1
	}
	if n >= 0 {
		parts = min(parts, n)
	}
	if !c.Pay(parts * budget.CostItem) {
		return nil
	}
	return strings.SplitN(s, sep, n)
}

func split(c *data.Call) any { return numbered(c, splitParts(c, c.Str(0), c.Str(1), -1)) }

func splitn(c *data.Call) any {
	n := c.Integer(1)
	if n < 0 {
		return c.Fail("argument 2 is negative")
	}
	return numbered(c, splitParts(c, c.Str(0), c.Str(2), clampInt(n)))
}

// numbered returns parts as a map with keys _0, _1, …
func numbered(c *data.Call, parts []string) any {
	m := c.NewDict(len(parts))
	if c.Err != nil {
		return nil
	}
	for i, p := range parts {
		if m["_"+strconv.Itoa(i)] = p; c.Derived() && data.HasLineEnd(p) {
			m["_"+strconv.Itoa(i)] = token.Derived(p)
		}
	}
	return m
}

// numbers returns the integers from start to stop, exclusive, in steps of step.
func numbers(c *data.Call, start, stop, step int64) []any {
	n := countSteps(c, start, stop, step)
	list := c.NewList(n)
	for i := range n {
		if c.Err != nil {
			return nil
		}
		list = append(list, start+int64(i)*step)
	}
	return list
}

// countSteps returns how many integers numbers returns.
func countSteps(c *data.Call, start, stop, step int64) int {
	const largest = 1 << 40 // far beyond the budget
	switch {
	case step == 0:
		c.Fail("the step is 0")
	case max(start, stop, step) > largest || min(start, stop, step) < -largest:
		c.FailWith(budget.ErrWork)
	case step > 0 && stop < start, step < 0 && stop > start:
		c.Fail("the step has the wrong sign, so the end is never reached")
	case step > 0:
		return int((stop - start + step - 1) / step)
	default:
		return int((start - stop - step - 1) / -step)
	}
	return 0
}

// seq counts like the shell's seq: up or down, including the last number. The
// second of three arguments is the step.
func seq(c *data.Call) any {
	if len(c.Args) == 0 {
		return ""
	}
	start, stop := int64(1), c.Integer(len(c.Args)-1)
	if len(c.Args) > 1 {
		start = c.Integer(0)
	}
	step := int64(1)
	if stop < start {
		step = -1
	}
	past := step
	if len(c.Args) == 3 {
		step = c.Integer(1)
	}
	if step > 0 && stop < start {
		return ""
	}
	var parts []string
	for _, n := range numbers(c, start, stop+past, step) {
		parts = append(parts, token.ScalarText(n))
	}
	return join(c, parts, " ")
}
