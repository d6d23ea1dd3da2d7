package typed

import (
	"math"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// arguments looks at the arguments of a call, and reports whether the function can yield anything.
func (c *checker) arguments(call *invocation, s *signature) bool {
	fine := true
	for i, v := range call.args {
		if !c.argument(call, i, v, s.param(i)) {
			fine = false
		}
	}
	return fine
}

// argument reports whether argument i can be what the function takes.
func (c *checker) argument(call *invocation, i int, v *value, p param) bool {
	switch {
	case v.kinds == null:
		if !p.nil {
			c.lacksArgument(call, i, v)
		}
		return p.nil
	case !p.nil:
		c.mayLack(v, call.node(i))
	}
	if p.kinds != 0 && !v.may(p.kinds) {
		c.maybe(!p.nil || v.kinds&null == 0, finding.Argument, c.argumentPlace(call, i), "%s: argument %d%s is %s, not %s%s", call.name.Ident, i+1, call.words(i), (v.kinds &^ null).Words(), p.words, remedy(v, p))
		return false
	}
	if fault := p.fault(v.lit); fault != "" {
		c.errorf(finding.Argument, c.argumentPlace(call, i), "%s: argument %d%s is %s", call.name.Ident, i+1, call.words(i), fault)
		return false
	}
	return true
}

func (c *checker) argumentPlace(call *invocation, i int) place { return c.at(call.node(i)) }

// words quotes an argument, if it is written there.
func (call *invocation) words(i int) string {
	if i >= len(call.nodes) {
		return ", the value before the |,"
	}
	return ", " + syntax.Excerpt(call.nodes[i]) + ","
}

func remedy(v *value, p param) string {
	switch {
	case p.kinds == scalar && v.kinds&(list|mapping) != 0:
		return "; toJson makes text of it"
	case p.kinds == list && v.kinds&^null == mapping:
		return "; keys and values make lists of it"
	}
	return ""
}

// lacksArgument notes that an argument is always missing.
func (c *checker) lacksArgument(call *invocation, i int, v *value) {
	c.fails(v.notes...)
	if len(v.notes) == 0 {
		c.errorf(finding.NoValue, c.argumentPlace(call, i), "%s: argument %d%s has no value; give it one, or use default, required or if", call.name.Ident, i+1, call.words(i))
	}
}

// fault says what is wrong with an argument that is written out, or "".
func (p param) fault(lit any) string {
	switch lit := lit.(type) {
	case string:
		text := strings.TrimSpace(lit)
		if _, err := strconv.ParseInt(text, 10, 64); p.whole && err != nil {
			return "text that is not a whole decimal number"
		}
		if _, err := strconv.ParseFloat(text, 64); p.num && err != nil {
			return "text that is not a number"
		}
	case float64:
		if p.whole && lit != math.Trunc(lit) {
			return "not a whole number"
		}
	}
	return ""
}
