package outline

import (
	"slices"
	"strings"
	"text/template/parse"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Input is what is known of a TemplateController whose templates are looked at.
type Input struct {
	// Notes keeps what is found.
	*types.Notes
	Spec *v1.TemplateControllerSpec
	// Known are the kinds; nil knows nothing.
	Known     openapi.Set
	Units     *syntax.Templates
	Skeletons *Skeletons
	Printed   types.Printed
}

// checker looks at what templates write out.
type checker struct{ Input }

// Check looks at what the templates of a spec write out.
func Check(in Input) {
	c := &checker{in}
	c.faults()
	c.texts()
	c.plain()
}

// documented returns the templates whose text is YAML.
func (c *checker) documented() []*syntax.Unit {
	all := slices.Concat(c.Units.Selects, c.Units.Children, []*syntax.Unit{c.Units.Status})
	return slices.DeleteFunc(all, func(u *syntax.Unit) bool { return u == nil })
}

// faults notes where templates print text that is not YAML, whatever their data.
func (c *checker) faults() {
	for _, u := range c.documented() {
		if offset, why := c.Skeletons.FirstFault(u, func(n *parse.ActionNode) bool { return c.Printed.IsValue(u.Text, n) }); why != "" {
			rest, _, _ := strings.Cut(u.Text.Content[offset:], "\n")
			c.Fail(true, finding.NoYAML, types.Place{Text: u.Text, Offset: offset, Length: len(strings.TrimRight(rest, " \r"))}, "%s", why)
		}
	}
}
