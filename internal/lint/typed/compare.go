package typed

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/finding"
)

// equal is what eq yields: whether the first argument equals any of the others.
func equal(c *checker, call *invocation) *value {
	answer := literal(false)
	for i := 1; i < len(call.args); i++ {
		switch w := c.equals(call, 0, i); {
		case w.lit == nil:
			answer = w
		case w.lit == true && answer.lit == false:
			return w
		}
	}
	return answer
}

func unequal(c *checker, call *invocation) *value {
	v := c.equals(call, 0, 1)
	if same, known := v.lit.(bool); known {
		return literal(!same)
	}
	return v
}

// equals returns whether two arguments of eq or ne are equal.
func (c *checker) equals(call *invocation, i, j int) *value {
	v, w := call.args[i], call.args[j]
	c.compares(v)
	c.compares(w)
	a, b := v.kinds.Classes(), w.kinds.Classes()
	sure := v.kinds&null == 0 && w.kinds&null == 0
	switch {
	case v.kinds == 0 || w.kinds == 0:
		return ofKinds(boolean)
	case a == 0 && b == 0:
		return literal(true)
	case a == 0 && w.kinds&null == 0, b == 0 && v.kinds&null == 0:
		return literal(false)
	case a == 0 || b == 0:
		return ofKinds(boolean)
	case a&scalar == 0 || b&scalar == 0:
		c.maybe(sure, finding.Argument, c.at(call.name), "%s: cannot compare lists and maps; use deepEqual", call.name.Ident)
	case a&b == 0:
		c.maybe(sure, finding.Argument, c.at(call.name), "%s: cannot compare %s with %s; int, float64 and toString convert", call.name.Ident, a.Words(), b.Words())
	case v.lit != nil && w.lit != nil:
		order, known := compared(v.lit, w.lit)
		return literal(known && order == 0)
	case c.outOfEnum(call, v, w, j) || c.outOfEnum(call, w, v, i):
		return literal(false)
	}
	return ofKinds(boolean)
}

// outOfEnum notes that argument i, a text that is written out, is none of those that a field can have.
func (c *checker) outOfEnum(call *invocation, v, w *value, i int) bool {
	text, written := w.lit.(string)
	if !written || v.of == nil || len(v.of.Enum) == 0 || v.lit != nil || slices.Contains(v.of.Enum, text) {
		return false
	}
	if v.origin == nil {
		return true // it is computed, such as by kindOf, and another caller of a helper may give something else
	}
	at, nearest := c.at(call.node(i)), c.nearest(text, slices.Clone(v.of.Enum))
	if n, ok := call.node(i).(*parse.StringNode); ok && text != "" {
		at = c.inString(n, text)
	}
	hint := "it is one of " + strings.Join(v.of.Enum[:min(len(v.of.Enum), 12)], ", ")
	if nearest != "" {
		hint = "did you mean " + nearest + "?"
	}
	n := c.warnf(finding.NeverTrue, at, "%s is never %q; %s", v.origin.words(), text, hint)
	n.replacement = nearest
	return true
}

// order is for lt, le, gt and ge.
func order(c *checker, call *invocation) *value {
	v, w := call.args[0], call.args[1]
	c.compares(v)
	c.compares(w)
	a, b := v.kinds.Classes(), w.kinds.Classes()
	if a != 0 && b != 0 && v.kinds != 0 && w.kinds != 0 && a&b == 0 {
		c.errorf(finding.Argument, c.at(call.name), "%s: cannot order %s and %s; int, float64 and toString convert", call.name.Ident, a.Words(), b.Words())
	}
	return ordered(call.name.Ident, v.lit, w.lit)
}

// alike is for functions to which values of different kinds are just different.
func alike(c *checker, call *invocation) *value {
	v, w := call.args[0], call.args[1]
	if call.name.Ident == "deepEqual" {
		c.neverEqual(call, w, v, 0)
		return ofKinds(boolean)
	}
	if w.kinds == null {
		return literal(false)
	}
	c.neverEqual(call, w.each(), v, 0)
	return c.contained(v, w)
}

// neverEqual notes that a value never is what argument i says.
func (c *checker) neverEqual(call *invocation, v, w *value, i int) {
	a, b := v.kinds.Classes(), w.kinds.Classes()
	if v.kinds == 0 || w.kinds == 0 || a == 0 || b == 0 {
		return
	}
	if a&b == 0 {
		c.warnf(finding.NeverTrue, c.at(call.node(i)), "%s: %s is never %s", call.name.Ident, a.Words(), b.Words())
		return
	}
	c.outOfEnum(call, v, w, i)
}
