package howto

import (
	"slices"
	"testing"

	"github.com/templater-dev/templater/internal/cli/cases"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// TestFinalizeRecipesTestDeletion has a case delete the parent wherever spec.finalize says what happens then.
func TestFinalizeRecipesTestDeletion(t *testing.T) {
	found := 0
	eachRecipe(t, func(t *testing.T, recipe string) {
		finalizes := func(tc *manifest.Controller) bool { return tc.TemplateController.Spec.Finalize != nil }
		if !slices.ContainsFunc(load(t, recipe).Controllers, finalizes) {
			return
		}
		found++
		all := cases.Find([]string{recipe})
		deletes := func(c *cases.Case) bool {
			return slices.ContainsFunc(c.Steps, func(s cases.Step) bool { return s.Delete })
		}
		if !slices.ContainsFunc(all, deletes) {
			t.Error("no case has a step with delete: true")
		}
	})
	if found == 0 {
		t.Error("no recipe has spec.finalize")
	}
}
