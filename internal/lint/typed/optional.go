package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/finding"
)

// test notes that a condition looks at a value: what is optional on the way to it is provided for.
func (c *checker) test(o *origin) {
	for ; o != nil && o.path != "" && !c.tested[o.step()]; o = o.up {
		c.tested[o.step()] = true
	}
}

// compares notes that a condition compares a value, on which it may depend which fields beside it are there.
func (c *checker) compares(v *value) {
	if c.collecting > 0 && v.origin != nil {
		c.conditions = append(c.conditions, v.origin.step())
	}
}

// mayLack notes that a value is needed that some objects do not have, and that no condition asks for.
func (c *checker) mayLack(v *value, n parse.Node) {
	if v.kinds&null == 0 || len(v.optional) == 0 {
		return
	}
	for _, step := range v.optional {
		for _, other := range c.conditions {
			if step == "" || parentOf(step) == parentOf(other) {
				return
			}
		}
	}
	at := v.at
	if at.text == nil {
		at = c.at(n)
	}
	last := v.optional[len(v.optional)-1]
	what := last
	if v.origin != nil {
		what = strings.TrimPrefix(last, v.origin.root)
	}
	note := c.warnf(finding.Optional, at, "%s is optional, and rendering fails without it; use default, required or with", what)
	note.unless = v.optional
}

func parentOf(step string) string {
	if i := strings.LastIndexByte(step, '.'); i >= 0 {
		return step[:i]
	}
	return step
}
