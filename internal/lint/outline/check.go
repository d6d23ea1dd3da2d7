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

// Input is a TemplateController to check.
type Input struct {
	// Notes collects the findings.
	*types.Notes
	Spec *v1.TemplateControllerSpec
	// Namespaced: it is the spec of a NamespacedTemplateController.
	Namespaced bool
	// Known has the schemas; nil = none.
	Known     openapi.Set
	Units     *syntax.Templates
	Skeletons *Skeletons
	Printed   types.Printed
}

// checker checks the literal YAML of templates.
type checker struct{ Input }

// Check checks the literal YAML of the templates of a spec.
func Check(in Input) {
	c := &checker{in}
	c.faults()
	c.texts()
	c.shared()
	c.plain()
}

// documented returns the templates that render YAML.
func (c *checker) documented() []*syntax.Unit {
	all := slices.Concat(c.Units.Selects, c.Units.Children, []*syntax.Unit{c.Units.Status})
	return slices.DeleteFunc(all, func(u *syntax.Unit) bool { return u == nil })
}

// faults reports templates that render invalid YAML for any data.
func (c *checker) faults() {
	for _, u := range c.documented() {
		if offset, why := c.Skeletons.FirstFault(u, func(n *parse.ActionNode) bool { return c.Printed.IsValue(u.Text, n) }); why != "" {
			rest, _, _ := strings.Cut(u.Text.Content[offset:], "\n")
			c.Fail(true, finding.NoYAML, types.Place{Text: u.Text, Offset: offset, Length: len(strings.TrimRight(rest, " \r"))}, "%s", why)
		}
	}
}
