package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func init() {
	p := group{source: "sprig", rendered: syntax.Passes}
	p.add(names("append", "push", "mustAppend", "mustPush"), 2, 2, "the list with an item at its end", func(c *call) any {
		return c.concat(c.list(0), c.args[1:])
	})
	p.add(names("prepend", "mustPrepend"), 2, 2, "the list with an item at its beginning", func(c *call) any {
		return c.concat(c.args[1:], c.list(0))
	})
	p.add(names("concat"), 1, -1, "the lists one after the other", concat)
	p.add(names("last", "mustLast"), 1, 1, "the last item, or nothing if the list is empty", func(c *call) any {
		return itemOf(c.list(0), -1)
	})
	p.add(names("rest", "mustRest"), 1, 1, "all items but the first", func(c *call) any { return c.part(1, 0) })
	p.add(names("initial", "mustInitial"), 1, 1, "all items but the last", func(c *call) any { return c.part(0, 1) })
	p.add(names("reverse", "mustReverse"), 1, 1, "the items in reverse order", func(c *call) any {
		list := c.concat(c.list(0), nil)
		slices.Reverse(list)
		return list
	})
	p.add(names("compact", "mustCompact"), 1, 1, "the items that are not empty", func(c *call) any {
		return c.filter(0, func(v any) bool { return !data.Empty(v, &c.x.Table) })
	})
	p.add(names("uniq", "mustUniq"), 1, 1, "the items without those that equal an earlier one", uniq)
	p.add(names("without", "mustWithout"), 1, -1, "the list without the items given", without)
	p.add(names("slice", "mustSlice"), 1, 3, "the items, or characters, from a position to before another", slice)
	p.add(names("chunk", "mustChunk"), 2, 2, "the items in lists of a given length", chunk)

	n := group{source: "sprig", rendered: syntax.Passes, nilOK: true}
	n.add(names("list", "tuple"), 0, -1, "a list of the arguments", func(c *call) any { return c.concat(c.args, nil) })
	n.add(names("first", "mustFirst"), 1, 1, "the first item, or nothing if the list is empty", func(c *call) any {
		return itemOf(c.list(0), 0)
	})
	n.add(names("has", "mustHas"), 2, 2, "whether the list, the second argument, has an item equal to the first", func(c *call) any {
		return slices.ContainsFunc(c.list(1), func(v any) bool { return c.same(c.args[0], v) })
	})

	e := group{source: "sprig", rendered: syntax.Expands}
	e.add(names("join"), 2, 2, "the items as text with the first argument between them", joinList)
	e.add(names("sortAlpha"), 1, 1, "the items as text in order", sortAlpha)
	e.add(names("toStrings"), 1, 1, "the items as text", func(c *call) any { return c.stringList(c.texts(0)) })
	e.add(names("split"), 2, 2, "a map _0, _1, … of what the first text separates in the second", split)
	e.add(names("splitn"), 3, 3, "like split, of at most a number of parts", splitn)
	e.add(names("splitList"), 2, 2, "a list of what the first text separates in the second", func(c *call) any {
		return c.stringList(c.splitParts(c.str(0), c.str(1), -1))
	})
	e.add(names("seq"), 0, 3, "whole numbers as text, with spaces between them", seq)
	e.add(names("until"), 1, 1, "a list of the whole numbers from 0 to before the argument", func(c *call) any {
		return c.numbers(0, c.integer(0), 1)
	})
	e.add(names("untilStep"), 3, 3, "a list of the whole numbers from the first to before the second, by the third", func(c *call) any {
		return c.numbers(c.integer(0), c.integer(1), c.integer(2))
	})
}

// concat returns a new list of the items of both.
func (c *call) concat(a, b []any) []any {
	list := c.newList(len(a) + len(b))
	if list == nil {
		return nil
	}
	return append(append(list, a...), b...)
}

func concat(c *call) any {
	size := 0
	for i := range c.args {
		size += len(c.list(i))
	}
	list := c.newList(size)
	for i := range c.args {
		if c.err == nil {
			list = append(list, c.list(i)...)
		}
	}
	return list
}

// itemOf returns the item at an index, counted from the end if negative, or
// nil if there is none.
func itemOf(list []any, i int) any {
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// part returns argument 0 without some items at its ends.
func (c *call) part(head, tail int) any {
	list := c.list(0)
	if len(list) < head+tail {
		return []any{}
	}
	return c.concat(list[head:len(list)-tail], nil)
}

// filter returns the items of argument i that do is true for.
func (c *call) filter(i int, do func(any) bool) []any {
	from := c.list(i)
	list := c.newList(len(from))
	if c.err != nil {
		return nil
	}
	for _, v := range from {
		if do(v) {
			list = append(list, v)
		}
	}
	return list
}

func uniq(c *call) any {
	var seen []any
	return c.filter(0, func(v any) bool {
		if c.err != nil || slices.ContainsFunc(seen, func(s any) bool { return c.same(s, v) }) {
			return false
		}
		seen = append(seen, v)
		return true
	})
}

func without(c *call) any {
	return c.filter(0, func(v any) bool {
		return !slices.ContainsFunc(c.args[1:], func(o any) bool { return c.same(o, v) })
	})
}

// slice serves lists, as sprig's, and text, as text/template's.
func slice(c *call) any {
	if data.IsText(c.args[0]) {
		s := c.str(0)
		from, to := c.bounds(len(s))
		if c.err != nil {
			return nil
		}
		if c.derived && hasLineEnd(s[from:to]) {
			return token.Derived(s[from:to])
		}
		return s[from:to]
	}
	list := c.list(0)
	from, to := c.bounds(len(list))
	if c.err != nil {
		return nil
	}
	return c.concat(list[from:to], nil)
}

// bounds returns arguments 1 and 2 as positions in something of that length.
func (c *call) bounds(length int) (from, to int) {
	bounds := [2]int{0, length}
	for i := 1; i < len(c.args); i++ {
		n := c.integer(i)
		if n < 0 || n > int64(length) {
			c.fail("argument %d is outside of what is sliced", i+1)
			return 0, 0
		}
		bounds[i-1] = int(n)
	}
	if bounds[0] > bounds[1] {
		c.fail("argument 2 is greater than argument 3")
		return 0, 0
	}
	return bounds[0], bounds[1]
}

func chunk(c *call) any {
	size, list := c.integer(0), c.list(1)
	if size < 1 {
		return c.fail("argument 1 must be at least 1")
	}
	step := int(min(size, int64(len(list))+1))
	chunks := c.newList(len(list)/step + 1)
	for from := 0; from < len(list) && c.err == nil; from += step {
		chunks = append(chunks, c.concat(list[from:min(from+step, len(list))], nil))
	}
	return chunks
}

// texts returns the items of argument i as text.
func (c *call) texts(i int) []string {
	from := c.list(i)
	if !c.pay(len(from) * budget.CostItem) {
		return nil
	}
	parts := make([]string, len(from))
	for j, v := range from {
		if v == nil {
			c.fail("item %d of argument %d has no value", j, i+1)
		} else {
			parts[j] = c.strOf(c.scalarItem(v), i)
		}
	}
	return parts
}

// scalarItem returns an item of a list from data in the renderer's types.
func (c *call) scalarItem(v any) any {
	n, err := data.Normal(v)
	c.failed(err)
	return n
}

// joinList also takes a single text, as sprig's join does.
func joinList(c *call) any {
	if _, isList := c.args[1].([]any); !isList {
		return c.str(1)
	}
	return c.join(c.texts(1), c.str(0))
}

func sortAlpha(c *call) any {
	parts := c.texts(0)
	slices.Sort(parts)
	return c.stringList(parts)
}

// stringList returns parts as a list.
func (c *call) stringList(parts []string) any {
	list := c.newList(len(parts))
	if c.err != nil {
		return nil
	}
	for _, p := range parts {
		list = append(list, p)
	}
	return list
}

// splitParts splits s into at most n parts, or all if n is negative, and pays
// for them.
func (c *call) splitParts(sep, s string, n int) []string {
	if !c.pay(len(s)) {
		return nil
	}
	parts := len(s)
	if sep != "" {
		parts = strings.Count(s, sep) + 1
	}
	if n >= 0 {
		parts = min(parts, n)
	}
	if !c.pay(parts * budget.CostItem) {
		return nil
	}
	return strings.SplitN(s, sep, n)
}

func split(c *call) any { return c.numbered(c.splitParts(c.str(0), c.str(1), -1)) }

func splitn(c *call) any {
	n := c.integer(1)
	if n < 0 {
		return c.fail("argument 2 is negative")
	}
	return c.numbered(c.splitParts(c.str(0), c.str(2), clampInt(n)))
}

// numbered returns parts as a map _0, _1, …
func (c *call) numbered(parts []string) any {
	m := c.newDict(len(parts))
	if c.err != nil {
		return nil
	}
	for i, p := range parts {
		if m["_"+strconv.Itoa(i)] = p; c.derived && hasLineEnd(p) {
			m["_"+strconv.Itoa(i)] = token.Derived(p)
		}
	}
	return m
}

// numbers returns the whole numbers from start to before stop.
func (c *call) numbers(start, stop, step int64) []any {
	n := c.countSteps(start, stop, step)
	list := c.newList(n)
	for i := range n {
		if c.err != nil {
			return nil
		}
		list = append(list, start+int64(i)*step)
	}
	return list
}

// countSteps returns how many numbers there are from start to before stop.
func (c *call) countSteps(start, stop, step int64) int {
	const largest = 1 << 40 // far beyond what can be paid for
	switch {
	case step == 0:
		c.fail("the step is 0")
	case max(start, stop, step) > largest || min(start, stop, step) < -largest:
		c.failed(budget.ErrWork)
	case step > 0 && stop < start, step < 0 && stop > start:
		c.fail("no numbers lead from the first bound to the second")
	case step > 0:
		return int((stop - start + step - 1) / step)
	default:
		return int((start - stop - step - 1) / -step)
	}
	return 0
}

// seq counts as the shell's seq does: to the last number itself, downwards
// too, by the second of three arguments.
func seq(c *call) any {
	if len(c.args) == 0 {
		return ""
	}
	start, stop := int64(1), c.integer(len(c.args)-1)
	if len(c.args) > 1 {
		start = c.integer(0)
	}
	step := int64(1)
	if stop < start {
		step = -1
	}
	past := step
	if len(c.args) == 3 {
		step = c.integer(1)
	}
	if step > 0 && stop < start {
		return ""
	}
	var parts []string
	for _, n := range c.numbers(start, stop+past, step) {
		parts = append(parts, token.ScalarText(n))
	}
	return c.join(parts, " ")
}
