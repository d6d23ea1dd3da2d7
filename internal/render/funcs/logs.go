package funcs

import (
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// logs yields texts. They are data like that of any object.
func logs(c *data.Call) any {
	pod := c.Dict(0)
	switch {
	case c.Err != nil:
		return nil
	case pod == nil:
		return map[string]any{}
	case c.Logs == nil:
		return c.Fail("%s", syntax.NoLogs)
	}
	texts, err := c.Logs(pod)
	if c.FailBecause(err); c.Err != nil {
		return nil
	}
	m := c.NewDict(len(texts))
	for container, text := range texts {
		if !c.Pay(len(container) + len(text)) {
			return nil
		}
		m[container] = text
	}
	return m
}
