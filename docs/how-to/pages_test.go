package howto

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parts are what the page of each recipe has, in this order. Others may stand between them.
var parts = []string{"Apply it", "What you see", "Remove it", "Rights"}

// bounds are the parts that say what a recipe does not do. The page of each has one of them behind the others.
var bounds = []string{"Limits", "What cannot be said", "What templater does not do"}

var heading = regexp.MustCompile(`(?m)^## (.*)$`)

func TestPagesHaveTheSameParts(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		var found []string
		for _, match := range heading.FindAllStringSubmatch(page(t, recipe), -1) {
			if slices.Contains(parts, match[1]) {
				found = append(found, match[1])
			} else if slices.Contains(bounds, match[1]) {
				found = append(found, "its bounds")
			}
		}
		if diff := cmp.Diff(append(slices.Clone(parts), "its bounds"), found); diff != "" {
			t.Errorf("parts of the page (-want +got):\n%s", diff)
		}
	})
}

// TestPagesSayHowToApplyAndRemove holds the commands of the two parts to what the folder needs: definitions before objects of their kinds, and objects
// away before the rights to let them go.
func TestPagesSayHowToApplyAndRemove(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		folder := path.Join("docs/how-to", filepath.ToSlash(recipe))
		var apply []string
		if slices.Contains(manifests(t, recipe), filepath.Join(recipe, "crd.yaml")) {
			apply = append(apply, "kubectl apply -f "+folder+"/crd.yaml", "kubectl wait --for=condition=Established -f "+folder+"/crd.yaml")
		}
		apply = append(apply, "kubectl apply -f "+folder)
		if diff := cmp.Diff(apply, commands(part(t, recipe, "Apply it"))); diff != "" {
			t.Errorf("commands that apply it (-want +page):\n%s", diff)
		}
		remove := []string{"kubectl delete -f " + folder + "/object.yaml", "kubectl delete -f " + folder + " --ignore-not-found"}
		if diff := cmp.Diff(remove, commands(part(t, recipe, "Remove it"))); diff != "" {
			t.Errorf("commands that remove it (-want +page):\n%s", diff)
		}
	})
}

// TestPagesTellOfAllRights has the page of a recipe name each resource that its roles are about.
func TestPagesTellOfAllRights(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		told, count := part(t, recipe, "Rights"), 0
		for _, o := range load(t, recipe).Objects {
			rules, _ := o.Content["rules"].([]any)
			for _, rule := range rules {
				resources, _ := rule.(map[string]any)["resources"].([]any)
				for _, resource := range resources {
					count++
					name, _ := resource.(string)
					name, isStatus := strings.CutSuffix(name, "/status")
					if !strings.Contains(told, "`"+name+"`") || isStatus && !strings.Contains(told, "status") {
						t.Errorf("the part Rights does not tell of %s", resource)
					}
				}
			}
		}
		if count == 0 {
			t.Error("there are no rights")
		}
	})
}

func page(t *testing.T, recipe string) string {
	t.Helper()
	return read(t, filepath.Join(recipe, "README.md"))
}

// part returns what is below a heading of the page of a recipe.
func part(t *testing.T, recipe, name string) string {
	t.Helper()
	_, text, found := strings.Cut(page(t, recipe), "\n## "+name+"\n")
	if !found {
		t.Fatalf("the page has no part %q", name)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// commands returns the lines of a part that begin with a prompt, without it.
func commands(part string) []string {
	var all []string
	for line := range strings.Lines(part) {
		if command, is := strings.CutPrefix(line, "    $ "); is {
			all = append(all, strings.TrimSpace(command))
		}
	}
	return all
}
