package helmtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// snippet is a template in Helm's syntax, and its values as JSON.
type snippet struct {
	Name   string          `json:"name"`
	Values json.RawMessage `json:"values"`
	// Helpers is the content of _helpers.tpl.
	Helpers string `json:"helpers"`
	// Template is a manifest, without apiVersion, kind and name unless Whole is set.
	Template string `json:"template"`
	Whole    bool   `json:"whole"`
	// Fails means that both engines reject the snippet.
	Fails bool `json:"fails"`
	// Differs is the row in docs/concepts/helm.md that explains why the results differ.
	Differs string `json:"differs"`
}

// manifest returns the template with the keys that every object needs.
func (s snippet) manifest() string {
	if s.Whole {
		return s.Template
	}
	const head = "apiVersion: example.org/v1\nkind: Snippet\n"
	if rest, ok := strings.CutPrefix(s.Template, "metadata:\n"); ok {
		return head + "metadata:\n  name: snippet\n" + rest
	}
	return head + "metadata: {name: snippet}\n" + s.Template
}

// load returns the snippets in testdata by file name, without extension.
func load(t *testing.T) map[string][]snippet {
	t.Helper()
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]snippet{}
	seen := map[string]bool{}
	for _, file := range files {
		for _, s := range loadFile(t, file) {
			if seen[s.Name] {
				t.Fatalf("%s: there are two snippets named %s", file, s.Name)
			}
			seen[s.Name] = true
			topic := strings.TrimSuffix(filepath.Base(file), ".yaml")
			all[topic] = append(all[topic], s)
		}
	}
	return all
}

func loadFile(t *testing.T, file string) []snippet {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var snippets []snippet
	if err := yaml.UnmarshalStrict(data, &snippets); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return snippets
}
