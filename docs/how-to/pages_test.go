package howto

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// parts are what the page of each recipe has, in this order. Others may stand between them.
var parts = []string{"Apply it", "What you see", "Remove it", "Permissions"}

// bounds are the parts that say what a recipe does not do. The page of each has one of them behind the others.
var bounds = []string{"Limits", "What cannot be said", "What templater does not do"}

var heading = regexp.MustCompile(`(?m)^## (.*)$`)

func TestRecipePagesHaveSameSections(t *testing.T) {
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

// TestRecipePagesListApplyAndDeleteCommands holds the commands of the two parts to what the folder needs: definitions before objects of their kinds, objects
// away before the permissions to let them go, and children before the definition, without which the garbage collector does not find them.
func TestRecipePagesListApplyAndDeleteCommands(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		set := load(t, recipe)
		folder := path.Join("docs/how-to", filepath.ToSlash(recipe))
		apply, remove := []string{"kubectl apply -f " + folder}, []string{"kubectl delete -f " + folder + "/object.yaml"}
		oneFile := set.Controllers[0].Spec.CRD != nil
		switch {
		case oneFile: // which defines the kind of object.yaml
			apply = append([]string{"kubectl apply -f " + folder + "/rbac.yaml -f " + folder + "/templatecontroller.yaml", "kubectl wait --for=condition=Ready -f " + folder + "/templatecontroller.yaml"}, apply...)
		case len(set.CRDs) > 0:
			apply = append([]string{"kubectl apply -f " + folder + "/crd.yaml", "kubectl wait --for=condition=Established -f " + folder + "/crd.yaml"}, apply...)
		}
		if len(set.CRDs) > 0 {
			remove = append(remove, "kubectl wait --for=delete --timeout=2m "+strings.Join(made(set), ",")+" -l "+selector(set))
		}
		remove = append(remove, "kubectl delete -f "+folder+" --ignore-not-found")
		if oneFile {
			var crds []string
			for _, crd := range set.CRDs {
				crds = append(crds, nameOf(crd))
			}
			remove = append(remove, "kubectl delete crd "+strings.Join(crds, " "))
		}
		if diff := cmp.Diff(apply, commands(part(t, recipe, "Apply it"))); diff != "" {
			t.Errorf("commands that apply it (-want +page):\n%s", diff)
		}
		if diff := cmp.Diff(remove, commands(part(t, recipe, "Remove it"))); diff != "" {
			t.Errorf("commands that remove it (-want +page):\n%s", diff)
		}
	})
}

func nameOf(o *manifest.Object) string {
	return o.Content["metadata"].(map[string]any)["name"].(string)
}

// made returns the resources that templater makes by the roles of a recipe, in their order.
func made(set *manifest.Set) []string {
	var all []string
	for _, rule := range rules(set) {
		if !slices.Contains(rule.Verbs, "create") || slices.Contains(rule.APIGroups, "apiextensions.k8s.io") {
			continue
		}
		for _, resource := range rule.Resources {
			if !slices.Contains(all, resource) {
				all = append(all, resource)
			}
		}
	}
	return all
}

// selector finds the children of all TemplateControllers of a recipe, and says where to look.
func selector(set *manifest.Set) string {
	var names []string
	for _, tc := range set.Controllers {
		names = append(names, tc.TemplateController.Name)
	}
	found := v1.LabelController + "=" + names[0]
	if len(names) > 1 {
		found = fmt.Sprintf("'%s in (%s)'", v1.LabelController, strings.Join(names, ","))
	}
	for _, crd := range set.CRDs {
		if spec, _ := crd.Content["spec"].(map[string]any); spec["scope"] == "Cluster" {
			found += " --all-namespaces"
		}
	}
	return found
}

// TestRecipePagesListAllPermissions has the page of a recipe name each resource that its roles are about.
func TestRecipePagesListAllPermissions(t *testing.T) {
	eachRecipe(t, func(t *testing.T, recipe string) {
		told, all := part(t, recipe, "Permissions"), rules(load(t, recipe))
		for _, rule := range all {
			for _, resource := range rule.Resources {
				name, isStatus := strings.CutSuffix(resource, "/status")
				if !strings.Contains(told, "`"+name+"`") || isStatus && !strings.Contains(told, "status") {
					t.Errorf("the part Permissions does not tell of %s", resource)
				}
			}
		}
		if len(all) == 0 {
			t.Error("there are no permissions")
		}
	})
}

// rules returns those of all roles of a recipe.
func rules(set *manifest.Set) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, o := range set.Objects {
		role := rbacv1.ClusterRole{}
		if o.Content["kind"] == "ClusterRole" && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Content, &role) == nil {
			all = append(all, role.Rules...)
		}
	}
	return all
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
