// Package howto tests the recipes: each folder below that holds an object.yaml.
package howto

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/cli/cases"
	"github.com/templater-dev/templater/internal/cli/rbac"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"

	v1 "github.com/templater-dev/templater/api/v1"
)

// recipes returns the folders of all recipes.
func recipes(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "object.yaml" {
			all = append(all, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("found the recipes %v, and the error %v", all, err)
	}
	return all
}

// manifests returns the files of a recipe that are applied to a cluster.
func manifests(t *testing.T, recipe string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(recipe, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(all, filepath.Join(recipe, "expect.yaml")) {
		t.Errorf("%s: kubectl apply -f would apply expect.yaml, too: move it into cases/", recipe)
	}
	return all
}

// load reads the manifests of a recipe.
func load(t *testing.T, recipe string) *manifest.Set {
	t.Helper()
	set, err := manifest.LoadControllers(manifests(t, recipe), nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eachRecipe runs a test for each recipe.
func eachRecipe(t *testing.T, test func(t *testing.T, recipe string)) {
	for _, recipe := range recipes(t) {
		t.Run(recipe, func(t *testing.T) { test(t, recipe) })
	}
}

func TestRecipesPassLint(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		if summary := passLint(t, load(t, recipe)); len(summary.UnknownKinds) > 0 {
			t.Errorf("nothing is known of the fields of %v", summary.UnknownKinds)
		}
	})
}

// passLint reports findings in a set as errors.
func passLint(t *testing.T, set *manifest.Set) report.Summary {
	t.Helper()
	known, err := lint.Know(set)
	if err != nil {
		t.Fatal(err)
	}
	all, summary := known.Check(set)
	for _, finding := range all {
		t.Errorf("%+v", finding)
	}
	return summary
}

// TestRecipeRBACMatchesGeneratedRules holds rbac.yaml to what templater rbac prints. Where that begins with notes about what it cannot know,
// such as the permission to give permissions away, documents must follow that have it.
func TestRecipeRBACMatchesGeneratedRules(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		set := load(t, recipe)
		var kinds kind.Declared
		for _, crd := range set.CRDs {
			kinds = append(kinds, crd.Content)
		}
		var all []*rbac.Permissions
		notes := 0
		for _, tc := range set.Controllers {
			permissions, err := rbac.Of(tc.TemplateController, kinds, rbac.Options{
				Operator: v1.ServiceAccountRef{Namespace: "templater-system", Name: "templater"},
			})
			if err != nil {
				t.Fatal(err)
			}
			notes += len(permissions.Notes)
			all = append(all, permissions)
		}
		want, err := rbac.YAML(all)
		if err != nil {
			t.Fatal(err)
		}
		more, found := strings.CutPrefix(read(t, filepath.Join(recipe, "rbac.yaml")), want)
		switch {
		case !found:
			t.Errorf("rbac.yaml does not begin with what templater rbac prints:\n%s", want)
		case more == "" && notes > 0:
			t.Errorf("templater rbac has %d notes, and rbac.yaml has no more documents", notes)
		}
	})
}

func TestRecipesPassTheirCases(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		all := cases.Find([]string{recipe})
		for _, c := range all {
			outcome, err := c.Run(false)
			if err != nil {
				t.Error(err)
			}
			for _, step := range outcome.Steps {
				if step.Failure != "" {
					t.Errorf("%s: step %q:\n%s", c.Folder, step.Name, step.Failure)
				}
			}
			if len(outcome.Stale) > 0 {
				t.Errorf("these files are of no step: %v", outcome.Stale)
			}
		}
	})
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// TestRecipePagesQuoteFiles has each YAML block of a page be consecutive lines of a file in the folder of the recipe, but for
// the indentation.
func TestRecipePagesQuoteFiles(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		page := read(t, filepath.Join(recipe, "README.md"))
		var texts []string
		err := filepath.WalkDir(recipe, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && filepath.Base(path) != "README.md" {
				texts = append(texts, "\n"+read(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(page, -1) {
			if !slices.ContainsFunc(texts, func(text string) bool { return holds(text, block[1]) }) {
				t.Errorf("no file has these lines:\n%s", block[1])
			}
		}
		for _, file := range manifests(t, recipe) {
			if !strings.Contains(page, "]("+filepath.Base(file)+")") {
				t.Errorf("the page does not link to %s", filepath.Base(file))
			}
		}
	})
}

// holds reports whether a text, which begins with a line end, has the lines of a block, each indented further by the same number of
// spaces.
func holds(text, block string) bool {
	for width := range 40 {
		if strings.Contains(text, "\n"+indented(block, width)) {
			return true
		}
	}
	return false
}

func indented(block string, width int) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		if line != "\n" {
			out.WriteString(strings.Repeat(" ", width))
		}
		out.WriteString(line)
	}
	return out.String()
}

func TestIndexesLinkAllRecipes(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		index := filepath.Join(filepath.Dir(recipe), "README.md")
		if want := "](" + filepath.Base(recipe) + "/README.md)"; !strings.Contains(read(t, index), want) {
			t.Errorf("%s has no link %s", index, want)
		}
	})
}
