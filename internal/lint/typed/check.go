// Package typed infers the types of values in templates: from the schemas of the parent and of other objects,
// from spec.values, and from functions. It reports expressions that always fail or are always missing, for any data.
// It reports nothing about values of unknown type. It is pure, and limits its work.
package typed

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// checker checks the templates of a TemplateController.
type checker struct {
	units     *syntax.Templates
	notes     *types.Notes
	skeletons *outline.Skeletons
	roots     *roots
	walk      *walker
	// namespaced: it is a NamespacedTemplateController.
	namespaced bool
}

// Check returns the findings of the type check for the templates of a TemplateController, compiled to program. A nil set has
// no schemas. It calls pause regularly: an error stops the check and invalidates its result; nil = no pauses. It is safe
// for concurrent use.
func Check(pause func() error, tc *v1.TemplateController, program *render.Program, known openapi.Set) []finding.Finding {
	c := newChecker(pause, tc, program, known)
	c.all()
	if c.notes.Paused() {
		return nil
	}
	return c.notes.Findings()
}

func newChecker(pause func() error, tc *v1.TemplateController, program *render.Program, known openapi.Set) *checker {
	notes, skeletons := types.NewNotes(pause), &outline.Skeletons{Pause: pause}
	c := &checker{
		units: program.Templates(), notes: notes, skeletons: skeletons,
		roots: newRoots(&tc.Spec, known, program, skeletons), walk: newWalker(notes, &tc.Spec), namespaced: tc.Namespace != "",
	}
	for name, u := range c.roots.children {
		if u != nil && known != nil {
			addKeys(c.walk.labels, ".children."+name+"[]", skeletons.Of(u).Labels())
		}
	}
	return c
}

// all checks all templates.
func (c *checker) all() {
	for _, u := range slices.Concat(c.units.Selects, c.units.Children, []*syntax.Unit{c.units.Status}) {
		if u != nil {
			c.walk.template(u, c.roots.of(u))
		}
	}
	for _, u := range c.units.ReadyWhen {
		c.walk.readyWhen(u, c.roots.of(u))
	}
	if u := c.units.Filter; u != nil {
		c.walk.filter(u, c.roots.of(u))
	}
	outline.Check(outline.Input{
		Notes: c.notes, Spec: c.roots.spec, Namespaced: c.namespaced, Known: c.roots.known, Units: c.units, Skeletons: c.skeletons, Printed: c.walk.printed,
	})
	c.unused()
}
