package render

import (
	"errors"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

func init() {
	p := group{source: "templater", rendered: syntax.Passes}
	p.add(names("include"), 2, 2, "what the template of that name yields with the second argument as its dot", include)
	functions["include"].Rendered = syntax.Keeps
	n := group{source: "templater", rendered: syntax.Passes, nilOK: true}
	n.add(names("required"), 2, 2, "the second argument; if it is missing or empty, rendering fails with the first as its message",
		func(c *call) any {
			if data.Empty(c.args[1], &c.x.Table) {
				return c.stop(syntax.Fail)
			}
			return c.args[1]
		})
	s := group{source: "sprig", rendered: syntax.Expands}
	s.add(names("fail"), 1, 1, "nothing: rendering fails with this message, until something changes", func(c *call) any { return c.stop(syntax.Fail) })
	w := group{source: "templater", rendered: syntax.Expands}
	w.add(names("wait"), 1, 1, "nothing: children stay as they are and the parent is not ready yet, for this reason",
		func(c *call) any { return c.stop(syntax.Wait) })
}

// stop ends rendering with the author's own message, argument 0.
func (c *call) stop(reason syntax.Reason) any {
	if c.args[0] == nil {
		return c.fail("argument 1, the message, has no value")
	}
	message := c.str(0)
	if c.err == nil {
		c.err = &stopError{reason: reason, message: message}
	}
	return nil
}

// stopError is how fail, required and wait travel.
type stopError struct {
	reason  syntax.Reason
	message string
}

func (e *stopError) Error() string { return e.message }

// reasonOf tells what kind of error err is.
func reasonOf(err error) syntax.Reason {
	if stop, ok := errors.AsType[*stopError](err); ok {
		return stop.reason
	}
	if _, ok := errors.AsType[budget.Error](err); ok {
		return syntax.Budget
	}
	if _, ok := errors.AsType[*budget.InterruptedError](err); ok {
		return syntax.Interrupted
	}
	return syntax.Invalid
}

// include yields rendered text: the output of a template with its tokens.
func include(c *call) any {
	name := c.str(0)
	if c.err != nil {
		return nil
	}
	outer, place := c.x.out, c.x.place
	c.x.out = &output{}
	err := c.x.invoke(name, c.args[1])
	text := token.Rendered(c.x.out.buf)
	if c.x.in.Place != nil {
		c.x.noteIncluded()
	}
	c.x.out, c.x.place = outer, place
	if err != nil {
		c.failed(err)
		return nil
	}
	c.pay(len(text))
	return text
}
