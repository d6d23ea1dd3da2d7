package typed

import (
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/signature"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// arguments looks at the arguments of a call, and reports whether the function can yield anything.
func (c *checker) arguments(call *invocation, s *signature.Signature) bool {
	fine := true
	for i, v := range call.args {
		if c.gaveUp {
			return fine
		}
		if !c.argument(call, i, v, s.Param(i)) {
			fine = false
		}
	}
	return fine
}

// argument reports whether argument i can be what the function takes.
func (c *checker) argument(call *invocation, i int, v *value.Value, p signature.Param) bool {
	switch {
	case v.Kinds == schema.Null:
		if !p.Nil {
			c.lacksArgument(call, i, v)
		}
		return p.Nil
	case !p.Nil:
		c.mayLack(v, call.node(i))
	}
	if p.Kinds != 0 && !v.May(p.Kinds) {
		c.maybe(!p.Nil || v.Kinds&schema.Null == 0, finding.Argument, c.argumentPlace(call, i), "%s: argument %d%s is %s, not %s%s", call.name.Ident, i+1, call.words(i), (v.Kinds &^ schema.Null).Words(), p.Words, remedy(v, p))
		return false
	}
	if fault := p.Fault(v.Literal); fault != "" {
		c.errorf(finding.Argument, c.argumentPlace(call, i), "%s: argument %d%s is %s", call.name.Ident, i+1, call.words(i), fault)
		return false
	}
	return true
}

func (c *checker) argumentPlace(call *invocation, i int) value.Place { return c.at(call.node(i)) }

// words quotes an argument, if it is written there.
func (call *invocation) words(i int) string {
	if i >= len(call.nodes) {
		return ", the value before the |,"
	}
	return ", " + syntax.Excerpt(call.nodes[i]) + ","
}

func remedy(v *value.Value, p signature.Param) string {
	switch {
	case p.Kinds == value.Scalar && v.Kinds&(schema.List|schema.Map) != 0:
		return "; toJson makes text of it"
	case p.Kinds == schema.List && v.Kinds&^schema.Null == schema.Map:
		return "; keys and values make lists of it"
	}
	return ""
}

// lacksArgument notes that an argument is always missing.
func (c *checker) lacksArgument(call *invocation, i int, v *value.Value) {
	c.fails(v.Notes...)
	if len(v.Notes) == 0 {
		c.errorf(finding.NoValue, c.argumentPlace(call, i), "%s: argument %d%s has no value; give it one, or use default, required or if", call.name.Ident, i+1, call.words(i))
	}
}
