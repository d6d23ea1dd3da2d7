package docs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var (
	rightsRow = regexp.MustCompile("(?m)^\\| `([a-z*/]+)`[^|]*\\| ([^|]+) \\|")
	quoted    = regexp.MustCompile("`([a-z]+)`")
)

// granted returns the verbs on each resource that the roles in a manifest grant.
func granted(t *testing.T, manifest string) map[string][]string {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(read(t, manifest)), 4096)
	out := map[string][]string{}
	for {
		var role struct {
			Rules []struct{ Resources, Verbs []string }
		}
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				out[resource] = slices.Sorted(slices.Values(append(out[resource], rule.Verbs...)))
			}
		}
	}
}

// added puts the permissions that a component adds to the others.
func added(t *testing.T, patch string, to map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(patch)
	if err != nil {
		t.Fatal(err)
	}
	var adds []struct {
		Value struct{ Resources, Verbs []string }
	}
	if err := yaml.Unmarshal(text, &adds); err != nil {
		t.Fatal(err)
	}
	for _, add := range adds {
		for _, resource := range add.Value.Resources {
			to[resource] = slices.Sorted(slices.Values(append(to[resource], add.Value.Verbs...)))
		}
	}
}

func TestOperatorPermissionsAreDocumented(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "docs/operate/service-accounts.md"), "## Permissions of templater itself\n")
	section, _, _ = strings.Cut(section, "\n## ")
	told := map[string][]string{}
	for _, row := range rightsRow.FindAllStringSubmatch(section, -1) {
		for _, verb := range quoted.FindAllStringSubmatch(row[2], -1) {
			told[row[1]] = append(told[row[1]], verb[1])
		}
	}
	want := granted(t, "config/rbac/operator.yaml")
	for resource, verbs := range granted(t, "config/rbac/lease.yaml") {
		want[resource] = verbs
	}
	patches, err := filepath.Glob(filepath.Join(root, "config/components/*/rbac.yaml"))
	if err != nil || len(patches) == 0 {
		t.Errorf("got %d components with RBAC rules and error %v", len(patches), err)
	}
	for _, patch := range patches {
		added(t, patch, want)
	}
	for _, verbs := range told {
		slices.Sort(verbs)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("permissions in config/rbac and in docs/operate/service-accounts.md (-config +page):\n%s", diff)
	}
}
