package funcs

import (
	"github.com/templater-dev/templater/internal/render/call"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func init() {
	lazy := group{source: "text/template", rendered: syntax.Passes, nilOK: true}
	lazy.add(names("and"), 1, -1, "the first argument that is not true, or the last", nil)
	lazy.add(names("or"), 1, -1, "the first argument that is true, or the last", nil)
	k := group{source: "templater", rendered: syntax.Keeps}
	k.add(names("include"), 2, 2, "what the template of that name yields with the second argument as its dot", nil)
	n := group{source: "templater", rendered: syntax.Passes, nilOK: true}
	n.add(names("required"), 2, 2, "the second argument; if it is missing or empty, rendering fails with the first as its message",
		func(c *call.Call) any {
			if data.Empty(c.Args[1], &c.Table) {
				return stop(c, syntax.Fail)
			}
			return c.Args[1]
		})
	s := group{source: "sprig", rendered: syntax.Expands}
	s.add(names("fail"), 1, 1, "nothing: rendering fails with this message, until something changes", func(c *call.Call) any { return stop(c, syntax.Fail) })
	w := group{source: "templater", rendered: syntax.Expands}
	w.add(names("wait"), 1, 1, "nothing: children stay as they are and the parent is not ready yet, for this reason",
		func(c *call.Call) any { return stop(c, syntax.Wait) })
}

// stop ends rendering with the author's own message, argument 0.
func stop(c *call.Call, reason syntax.Reason) any {
	if c.Args[0] == nil {
		return c.Fail("argument 1, the message, has no value")
	}
	message := c.Str(0)
	c.FailWith(&call.StopError{Reason: reason, Message: message})
	return nil
}
