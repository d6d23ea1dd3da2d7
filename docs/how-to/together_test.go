package howto

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/lint/manifest"
)

// samples is the folder of the samples, beside which recipes are applied to one cluster.
const samples = "../../config/samples"

// elsewhere are pages, and files of a release, whose objects a reader of the recipes may have applied, too.
var elsewhere = []string{"../tutorial/README.md", "other-namespaces.md", "../../tools/release/first/rbac.yaml"}

// TestRecipesAndSamplesDoNotConflict has no two recipes, samples and pages use one name for a kind, an object or a parent, so that all of them can be applied to one
// namespace. Kinds of different groups have different names, too: kubectl would not know which of them is meant. So have parents of different kinds, for
// children are called after them.
func TestRecipesAndSamplesDoNotConflict(t *testing.T) {
	of := map[string]string{}
	take := func(where string, set *manifest.Set) {
		names := shared(set)
		if len(names) == 0 {
			t.Errorf("%s shares nothing with others", where)
		}
		for _, name := range names {
			if other, taken := of[name]; taken && other != where {
				t.Errorf("%s is in %s and in %s", name, other, where)
			}
			of[name] = where
		}
	}
	crds, err := filepath.Glob(samples + "/*/crd.yaml")
	if err != nil || len(crds) == 0 {
		t.Fatalf("found the samples %v, and the error %v", crds, err)
	}
	for _, crd := range crds {
		take(filepath.Dir(crd), load(t, filepath.Dir(crd)))
	}
	for _, recipe := range recipes(t) {
		take(recipe, load(t, recipe))
	}
	for _, file := range elsewhere {
		set, err := manifest.Parse(file, documents(t, file))
		if err != nil {
			t.Fatal(err)
		}
		take(file, set)
	}
}

// documents returns what a file holds as YAML documents: of a page, the blocks that are objects.
func documents(t *testing.T, file string) string {
	t.Helper()
	text := read(t, file)
	if filepath.Ext(file) != ".md" {
		return text
	}
	var all []string
	for _, block := range yamlBlock.FindAllStringSubmatch(text, -1) {
		if strings.HasPrefix(block[1], "apiVersion: ") {
			all = append(all, block[1])
		}
	}
	return strings.Join(all, "---\n")
}

// shared returns the names that a set takes: those of kinds, objects and parents, each with what it is.
func shared(set *manifest.Set) []string {
	var all []string
	kinds := map[string]bool{} // of parents
	for _, tc := range set.Controllers {
		all = append(all, "the TemplateController "+tc.TemplateController.Name)
		watch := tc.TemplateController.Spec.Watch
		kinds[watch.Kind] = true
		if strings.Contains(watch.APIVersion, ".") && !strings.Contains(watch.APIVersion, ".k8s.io/") {
			all = append(all, "the kind "+strings.ToLower(watch.Kind))
		}
	}
	for _, o := range slices.Concat(set.CRDs, set.Objects) {
		kind, _ := o.Content["kind"].(string)
		metadata, _ := o.Content["metadata"].(map[string]any)
		if name, _ := metadata["name"].(string); name != "" {
			all = append(all, "the "+kind+" "+name)
			if kinds[kind] {
				all = append(all, "the parent "+name)
			}
		}
	}
	for _, crd := range set.CRDs {
		spec, _ := crd.Content["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		short, _ := names["shortNames"].([]any)
		for _, name := range append(short, names["kind"], names["plural"], names["singular"]) {
			if name != nil {
				all = append(all, "the kind "+strings.ToLower(fmt.Sprint(name)))
			}
		}
	}
	return all
}
