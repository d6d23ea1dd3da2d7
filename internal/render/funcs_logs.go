package render

import (
	"github.com/templater-dev/templater/internal/render/syntax"
)

func init() {
	g := group{source: "templater", rendered: syntax.Passes, nilOK: true}
	g.add(names("logs"), 1, 1, "the end of the log of each container of a Pod, by the container's name; one without a log is missing", logs)
}

// logs yields texts. They are data like that of any object.
func logs(c *call) any {
	pod := c.dict(0)
	switch {
	case c.err != nil || !c.pay(costLogs):
		return nil
	case pod == nil:
		return map[string]any{}
	case c.x.in.Logs == nil:
		return c.fail("%s", syntax.NoLogs)
	}
	texts, err := c.x.in.Logs(pod)
	if c.cannot(err); c.err != nil {
		return nil
	}
	m := c.newDict(len(texts))
	for container, text := range texts {
		if !c.pay(len(container) + len(text)) {
			return nil
		}
		m[container] = text
	}
	return m
}
