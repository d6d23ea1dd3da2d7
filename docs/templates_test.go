package docs

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

var fence = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// shop is the parent that the page's examples use, with children.
func shop(t *testing.T, page string) *render.Input {
	t.Helper()
	observed := map[string][]map[string]any{}
	in := &render.Input{
		Observed: func(name string) ([]map[string]any, error) { return observed[name], nil },
		Ready:    func(map[string]any) bool { return true },
	}
	if err := yaml.Unmarshal([]byte(fence.FindStringSubmatch(page)[1]), &in.Parent); err != nil {
		t.Fatal(err)
	}
	child := func(name string) map[string]any {
		return map[string]any{
			"metadata": map[string]any{"name": name, "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
			"status": map[string]any{
				"phase": "Running", "podIP": "10.0.0.1",
				"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
			},
		}
	}
	in.Related = func(string) ([]map[string]any, error) { return []map[string]any{child("corner-db")}, nil }
	in.Logs = func(map[string]any) (map[string]string, error) { return map[string]string{"main": "no disk\n"}, nil }
	observed["pods"] = []map[string]any{child("corner-db")}
	observed["web"] = []map[string]any{child("corner")}
	return in
}

// compile compiles an example as the template of a child, and as a status.
func compile(t *testing.T, child, status string) *render.Program {
	t.Helper()
	program, err := render.Compile(render.Source{
		Controller: "shops",
		Children:   []syntax.Template{{Name: "example", Text: child}, {Name: "pods", Text: "#"}, {Name: "web", Text: "#"}, {Name: "db", Text: "#"}},
		Status:     status,
		Related:    []syntax.Template{{Name: "failed"}},
		Logs:       true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func TestTemplateExamplesRender(t *testing.T) {
	page := read(t, "docs/reference/templates.md")
	in := shop(t, page)
	blocks := fence.FindAllStringSubmatch(page, -1)
	for _, block := range blocks[1:] { // the first one is the parent
		text := block[1]
		if !strings.Contains(text, "apiVersion:") {
			text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + text
		}
		t.Log(text)
		_, err := compile(t, text, "").Child("example", in)
		var failure *syntax.Error
		if err != nil && (!errors.As(err, &failure) || failure.Reason != syntax.Wait) {
			t.Error(err)
		}
	}
	if len(blocks) < 5 {
		t.Errorf("only %d examples found", len(blocks))
	}
}

func TestObjectFunctionExamplesRender(t *testing.T) {
	page := read(t, "docs/reference/templates.md")
	in := shop(t, page)
	examples := tableExamples(page)
	for _, example := range examples {
		status, err := compile(t, "#", "x: {{ "+example+" }}").Status(in)
		if err != nil {
			t.Errorf("%s: %v", example, err)
			continue
		}
		t.Logf("%s: %v", example, status["x"])
	}
	if len(examples) != 9 {
		t.Errorf("found %d examples, want 9", len(examples))
	}
}

func TestActionExamplesRender(t *testing.T) {
	page := read(t, "docs/reference/templates.md")
	in := shop(t, page)
	_, section, _ := strings.Cut(page, "\n## Actions\n")
	section, _, _ = strings.Cut(section, "\n## ")
	examples := regexp.MustCompile("(?m)`(\\{\\{.*\\}\\})` \\|$").FindAllStringSubmatch(section, -1)
	for _, example := range examples {
		if _, err := compile(t, "#", "x: \""+example[1]+"\"").Status(in); err != nil {
			t.Errorf("%s: %v", example[1], err)
		}
	}
	if len(examples) != 10 {
		t.Errorf("found %d examples, want 10", len(examples))
	}
}

// tableExamples returns what stands in the third column of tables, where it is code.
func tableExamples(page string) []string {
	var examples []string
	for line := range strings.Lines(page) {
		line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, "\x00")
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 || !strings.HasPrefix(line, "| `") {
			continue
		}
		example := strings.Trim(strings.TrimSpace(cells[2]), "`")
		if strings.HasPrefix(example, "{{") {
			continue // it is of an action
		}
		examples = append(examples, strings.ReplaceAll(example, "\x00", "|"))
	}
	return examples
}
