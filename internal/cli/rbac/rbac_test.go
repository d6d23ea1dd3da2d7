package rbac

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
)

var update = flag.Bool("update", false, "write the golden files anew")

var operator = v1.ServiceAccountRef{Namespace: "templater-system", Name: "templater"}

// decode reads a YAML document.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// run returns what the comment of an archive asks for: "account NAMESPACE/NAME" and "blocking" are words in it.
func run(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	options := Options{Operator: operator}
	words := strings.Fields(string(archive.Comment))
	for i, word := range words {
		switch word {
		case "account:":
			namespace, name, _ := strings.Cut(words[i+1], "/")
			options.Account = &v1.ServiceAccountRef{Namespace: namespace, Name: name}
		case "blocking:":
			options.Blocking = true
		}
	}
	var kinds kind.Declared
	var all []*v1.TemplateController
	for _, f := range archive.Files {
		switch {
		case strings.HasPrefix(f.Name, "crd"):
			var definition map[string]any
			decode(t, string(f.Data), &definition)
			kinds = append(kinds, definition)
		case strings.HasPrefix(f.Name, "controller"):
			tc := &v1.TemplateController{}
			decode(t, string(f.Data), tc)
			all = append(all, tc)
		}
	}
	var permissions []*Permissions
	for _, tc := range all {
		one, err := Of(tc, kinds, options)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		permissions = append(permissions, one)
	}
	text, err := YAML(permissions)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPermissions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files and error %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := run(t, archive)
			for i, f := range archive.Files {
				if f.Name != "want" {
					continue
				}
				if diff := cmp.Diff(string(f.Data), got); diff != "" && !*update {
					t.Errorf("-want +got:\n%s", diff)
				}
				archive.Files[i].Data = []byte(got)
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestListReturnsSingleListObject(t *testing.T) {
	tc := &v1.TemplateController{}
	decode(t, "metadata: {name: a}\nspec: {watch: {apiVersion: v1, kind: ConfigMap}, children: [{name: a, template: \"apiVersion: v1\\nkind: Secret\\n\"}]}", tc)
	one, err := Of(tc, kind.Declared{}, Options{Account: &v1.ServiceAccountRef{Namespace: "a", Name: "b"}, Operator: operator})
	if err != nil {
		t.Fatal(err)
	}
	text, err := List([]*Permissions{one, one})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n  \"items\": [\n") {
		t.Errorf("it is on few lines:\n%s", text)
	}
	var list struct {
		Kind  string
		Items []struct{ Kind string }
	}
	if err := yaml.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, item := range list.Items {
		kinds = append(kinds, item.Kind)
	}
	if diff := cmp.Diff([]string{"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}, kinds); diff != "" || list.Kind != "List" {
		t.Errorf("kind %s (-want +got):\n%s", list.Kind, diff)
	}
}
