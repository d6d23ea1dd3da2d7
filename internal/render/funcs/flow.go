package funcs

import (
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func required(c *data.Call) any {
	if data.Empty(c.Args[1], &c.Table) {
		return stop(c, syntax.Fail)
	}
	return c.Args[1]
}

// stop ends rendering with the author's own message, argument 0.
func stop(c *data.Call, reason syntax.Reason) any {
	if c.Args[0] == nil {
		return c.Fail("argument 1, the message, has no value")
	}
	message := c.Str(0)
	c.FailWith(&data.StopError{Reason: reason, Message: message})
	return nil
}
