package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestSelect yields one mapping, several, and none.
func TestSelect(t *testing.T) {
	for text, want := range map[string]any{
		"name: {{ .spec.service }}": []map[string]any{{"name": "a: b"}},
		"- {name: a}\n- labelSelector: {matchLabels: {app: {{ .metadata.name }}}}": []map[string]any{
			{"name": "a"}, {"labelSelector": map[string]any{"matchLabels": map[string]any{"app": "one"}}}},
		"{{ range .spec.names }}\n- name: {{ . }}{{ end }}": []map[string]any{{"name": "x"}, {"name": "y"}},
		"{{ if .spec.missing }}name: x{{ end }}":            []map[string]any{},
		"[]":                                                []map[string]any{},
		"# {{/* nothing */}}":                               []map[string]any{},
		"":                                                  []map[string]any(nil),
		"name: a\n---\nname: b":                             "related[r].select:3:1: a selection is one YAML document: one mapping, or a list of mappings; remove what follows ---",
		"a":                                                 "related[r].select:1:1: a selection is a map or a list of maps, not a string",
		"- name: a\n- b":                                    "related[r].select:1:1: a selection is a map or a list of maps, not a string",
		"name: {{ .spec.missing }}":                         "related[r].select:1:10: .spec.missing has no value; set it, or use default, required or if",
		"name: {{ required \"x\" .spec.none }}":             "related[r].select:1:10: x",
	} {
		p, err := Compile(Source{Related: []syntax.Template{{Name: "r", Text: text}, {Name: "bare"}}})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := p.Select("r", &Input{Parent: map[string]any{
			"metadata": map[string]any{"name": "one"}, "spec": map[string]any{"service": "a: b", "names": []any{"x", "y"}},
		}})
		if message, fails := want.(string); fails {
			if err == nil || err.Error() != message {
				t.Errorf("%s: got %v, want %s", text, err, message)
			}
			continue
		}
		if diff := cmp.Diff(want, any(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// TestRelatedIsReadOnce reads related objects in every way there is, and stops where they cannot be had.
func TestRelatedIsReadOnce(t *testing.T) {
	p, err := Compile(Source{
		Related:  []syntax.Template{{Name: "pods"}, {Name: "nodes"}},
		Children: []syntax.Template{{Name: "a", Text: "apiVersion: v1\nkind: A\nn: {{ len .related.pods }}\nm: {{ len .related.pods }}\nv: {{ (first .related.pods).metadata | toJson }}\n"}},
		Status:   `a: {{ index .related "nodes" | collect "metadata.name" | toJson }}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	failure := errors.New("not now")
	in := &Input{Related: func(name string) ([]map[string]any, error) {
		asked = append(asked, name)
		if len(asked) > 2 {
			return nil, failure
		}
		return []map[string]any{{"metadata": map[string]any{"name": name, "resourceVersion": "1"}}}, nil
	}}
	if _, err := p.Child("a", &Input{}); err == nil || !strings.Contains(err.Error(), "related[pods] is not known") {
		t.Errorf("unknown related objects: error %v", err)
	}
	objects, err := p.Child("a", in)
	if err != nil || objects[0].Content["n"] != int64(1) {
		t.Fatal(objects, err)
	}
	if diff := cmp.Diff(map[string]any{"name": "pods"}, objects[0].Content["v"]); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	status, err := p.Status(in)
	if diff := cmp.Diff(map[string]any{"a": []any{"nodes"}}, status); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"pods", "nodes"}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if _, err := p.Status(in); err == nil || err.Error() != "status:1:7: not now" {
		t.Errorf("got %v, want the error of the reader", err)
	}
}
