package docs

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render"
)

// TestValuesAreQuotedInEmbeddedFiles puts values with line ends, quotes and more into files within an object, in the ways that the page
// on templates gives, and reads the files as their own readers do.
func TestValuesAreQuotedInEmbeddedFiles(t *testing.T) {
	page := read(t, "docs/reference/templates.md")
	for _, way := range []string{
		"{{ quote .spec.version }}", "{{ toJson .spec.resources }}", "{{ toJson .spec.version }}", "{{ shellQuote .spec.version }}", `{{ .spec.version \| replace "\n" " " \| replace "\r" " " }}`,
	} {
		if !strings.Contains(page, way) {
			t.Errorf("the page does not have %s", way)
		}
	}
	for _, version := range []string{"1.10\nadmin=true", "1.10\nadmin: true", `1.10", "admin": true, "a": "`, "1.10'\nadmin=true\n'", "1.10$(echo admin)`echo admin`", "1.10\r\nadmin=true", " # 1", "é\t"} {
		files := filesWith(t, version)
		var fromYAML map[string]any
		if err := yaml.Unmarshal([]byte(files["yaml"]), &fromYAML); err != nil || len(fromYAML) != 2 || fromYAML["version"] != version {
			t.Errorf("%q in YAML: %v, %v, of\n%s", version, fromYAML, err, files["yaml"])
		}
		var fromJSON map[string]any
		if err := json.Unmarshal([]byte(files["json"]), &fromJSON); err != nil || len(fromJSON) != 1 || fromJSON["version"] != version {
			t.Errorf("%q in JSON: %v, %v, of\n%s", version, fromJSON, err, files["json"])
		}
		if lines := strings.FieldsFunc(strings.TrimSpace(files["properties"]), func(r rune) bool { return r == '\n' || r == '\r' }); len(lines) != 1 {
			t.Errorf("%q in properties: %q", version, lines)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", files["sh"]).Output()
		if err != nil || string(out) != version {
			t.Errorf("%q in a script: %q, %v", version, out, err)
		}
	}
	if files := filesWith(t, "1.10\nadmin=true"); strings.Count(files["plain"], "\n") != 2 {
		t.Errorf("an unencoded value adds a line, contrary to the page: %q", files["plain"])
	}
}

// filesWith renders an object with files that hold a version.
func filesWith(t *testing.T, version string) map[string]string {
	t.Helper()
	const text = `apiVersion: v1
kind: ConfigMap
data:
  yaml: |
    version: {{ quote .spec.version }}
    limits: {{ toJson .spec.resources }}
  json: |
    {"version": {{ toJson .spec.version }}}
  properties: |
    version={{ .spec.version | replace "\n" " " | replace "\r" " " }}
  plain: |
    version={{ .spec.version }}
  sh: |
    VERSION={{ shellQuote .spec.version }}
    printf %s "$VERSION"
`
	in := &render.Input{Parent: map[string]any{"spec": map[string]any{"version": version, "resources": map[string]any{"limits": map[string]any{"cpu": version}}}}}
	objects, err := compile(t, text, "").Child("example", in)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for name, content := range objects[0].Content["data"].(map[string]any) {
		files[name], _ = content.(string)
	}
	return files
}
