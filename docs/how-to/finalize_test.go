package howto

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"

	"github.com/templater-dev/templater/internal/cases"
	"github.com/templater-dev/templater/internal/manifest"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestWhatIsMadeAtTheEndRenders renders the templates of spec.finalize for the parents of the cases, which do not get there.
func TestWhatIsMadeAtTheEndRenders(t *testing.T) {
	found := 0
	eachRecipe(t, func(t *testing.T, recipe string) {
		set := load(t, recipe)
		for _, tc := range set.Controllers {
			if tc.TemplateController.Spec.Finalize == nil {
				continue
			}
			program := compileAll(t, tc)
			for _, entry := range tc.TemplateController.Spec.Finalize.Children {
				for _, o := range parents(t, recipe, tc.TemplateController.Spec.Watch.Kind) {
					found++
					if _, err := program.Child(entry.Name, input(o.Content)); err != nil {
						t.Errorf("%s: %v", o.File, err)
					}
				}
			}
		}
	})
	if found == 0 {
		t.Error("no case has a parent for which anything is made at the end")
	}
}

// parents returns those of the cases of a recipe that are of a kind.
func parents(t *testing.T, recipe, kind string) []*manifest.Object {
	t.Helper()
	all, err := cases.Find([]string{recipe})
	if err != nil {
		t.Fatal(err)
	}
	var found []*manifest.Object
	for _, c := range all {
		set, err := manifest.Load([]string{filepath.Join(c.Folder, c.Parent)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range set.Objects {
			if o.Content["kind"] == kind {
				found = append(found, o)
			}
		}
	}
	return found
}

// compileAll compiles the templates of all entries of a TemplateController.
func compileAll(t *testing.T, tc *manifest.Controller) *render.Program {
	t.Helper()
	spec := tc.TemplateController.Spec
	source := render.Source{Controller: tc.TemplateController.Name, Helpers: spec.Helpers}
	if spec.Values != nil {
		if err := json.Unmarshal(spec.Values.Raw, &source.Values); err != nil {
			t.Fatal(err)
		}
	}
	for _, entry := range slices.Concat(spec.Children, spec.Finalize.Children) {
		source.Children = append(source.Children, syntax.Template{Name: entry.Name, Text: entry.Template})
	}
	for _, entry := range spec.Related {
		source.Related = append(source.Related, syntax.Template{Name: entry.Name, Text: entry.Select})
		source.Logs = source.Logs || entry.Logs != nil
	}
	program, err := render.Compile(source)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// input is a parent, as the API server shows it, with nothing around it.
func input(parent map[string]any) *render.Input {
	none := func(string) ([]map[string]any, error) { return nil, nil }
	metadata, _ := parent["metadata"].(map[string]any)
	metadata = map[string]any{"name": metadata["name"], "namespace": "default", "uid": "a"}
	return &render.Input{
		Parent:   map[string]any{"apiVersion": parent["apiVersion"], "kind": parent["kind"], "metadata": metadata, "spec": parent["spec"]},
		Observed: none, Related: none, Ready: func(map[string]any) bool { return true },
	}
}
