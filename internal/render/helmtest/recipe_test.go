package helmtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/scaffold"
	convert "github.com/templater-dev/templater/internal/cli/scaffold/chart"
)

// recipe is the page for users of a Helm operator. Its folder before/chart has the chart.
const recipe = "../../../docs/how-to/coming-from/helm-operator"

// TestRecipeRendersLikeItsChart renders the chart in Helm's engine, and the recipe converted from it in templater. The objects must
// be the same, including those of hooks, except for the hook annotation.
func TestRecipeRendersLikeItsChart(t *testing.T) {
	chart := filepath.Join(recipe, "before", "chart")
	spec, err := yaml.Marshal(map[string]any{"spec": loadChart(t, chart).Values})
	if err != nil {
		t.Fatal(err)
	}
	got := byName(t, converted(t, &scaffold.Result{Files: []scaffold.File{
		{Name: "templatecontroller.yaml", Content: readFile(t, filepath.Join(recipe, "templatecontroller.yaml"))},
		{Name: "example.yaml", Content: string(spec)},
	}}))
	want := byName(t, released(t, chart, nil))
	for _, object := range want {
		metadata, _ := object.(map[string]any)["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if delete(annotations, "helm.sh/hook"); len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-Helm +templater):\n%s", diff)
	}
}

// TestRecipeMatchesChartConversion checks that the page shows each note of templater new, and that the recipe is its output, except for
// one child template.
func TestRecipeMatchesChartConversion(t *testing.T) {
	result, err := convert.Convert(os.DirFS(filepath.Join(recipe, "before", "chart")), schema.GroupVersionKind{Group: "example.org", Version: "v1"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Notes) == 0 {
		t.Error("there are no notes")
	}
	page := readFile(t, filepath.Join(recipe, "README.md"))
	for _, note := range result.Notes {
		if want := "\n    before/chart/" + note.String() + "\n"; !strings.Contains(page, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	for _, f := range result.Files {
		if f.Name != "templatecontroller.yaml" {
			continue
		}
		made, kept := templates(t, f.Content), templates(t, readFile(t, filepath.Join(recipe, f.Name)))
		delete(kept, "prepare") // added by hand
		if diff := cmp.Diff(made, kept); diff != "" {
			t.Errorf("templatecontroller.yaml (-templater new +recipe):\n%s", diff)
		}
	}
}

// templates returns the child templates of a TemplateController by name, its helpers, and the schema of spec.crd.
func templates(t *testing.T, text string) map[string]string {
	t.Helper()
	tc := &v1.TemplateController{}
	if err := yaml.UnmarshalStrict([]byte(text), tc); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"helpers": strings.TrimSpace(tc.Spec.Helpers), "schema": string(tc.Spec.CRD.Schema.Spec.Raw)}
	for _, entry := range slices.Concat(tc.Spec.Children, tc.Spec.Finalize.Children) {
		all[entry.Name] = entry.Template
	}
	return all
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
