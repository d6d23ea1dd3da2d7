package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// test notes that a condition looks at a value: what is optional on the way to it is provided for.
func (c *checker) test(o *value.Origin) {
	for ; o != nil && o.Path != "" && !c.tested[o.Step()]; o = o.Up {
		c.tested[o.Step()] = true
	}
}

// compares notes that a condition compares a value, on which it may depend which fields beside it are there.
func (c *checker) compares(v *value.Value) {
	if c.collecting > 0 && v.Origin != nil {
		c.conditions = append(c.conditions, v.Origin.Step())
	}
}

// mayLack notes that a value is needed that some objects do not have, and that no condition asks for.
func (c *checker) mayLack(v *value.Value, n parse.Node) {
	if v.Kinds&schema.Null == 0 || len(v.Optional) == 0 {
		return
	}
	for _, step := range v.Optional {
		for _, other := range c.conditions {
			if step == "" || parentOf(step) == parentOf(other) {
				return
			}
		}
	}
	if c.waits(v.Optional[len(v.Optional)-1]) {
		return
	}
	at := v.At
	if at.Text == nil {
		at = c.at(n)
	}
	last := v.Optional[len(v.Optional)-1]
	what := last
	if v.Origin != nil {
		what = strings.TrimPrefix(last, v.Origin.Root)
	}
	note := c.warnf(finding.Optional, at, "%s is optional, and rendering fails without it; use default, required or with", what)
	note.Unless = v.Optional
}

// waits reports whether templater waits for what is missing there, or leaves it out: in a related object or a child of another template.
func (c *checker) waits(step string) bool {
	root, _, isItem := strings.Cut(step, "[]")
	name, isChild := strings.CutPrefix(root, ".children.")
	if !isItem || c.unit.Purpose == syntax.ForReadyWhen {
		return false
	}
	return strings.HasPrefix(root, ".related.") || isChild && c.unit.Text.Name != syntax.ChildName(name)
}

func parentOf(step string) string {
	if i := strings.LastIndexByte(step, '.'); i >= 0 {
		return step[:i]
	}
	return step
}
