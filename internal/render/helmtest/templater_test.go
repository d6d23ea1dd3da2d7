package helmtest

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// templater renders a snippet as the template of a child.
func templater(s snippet) ([]any, error) {
	var values map[string]any
	if err := json.Unmarshal(s.Values, &values); err != nil {
		return nil, err
	}
	program, err := render.Compile(render.Source{
		Controller: "snippets",
		Values:     values,
		Helpers:    translate(s.Helpers),
		Children:   []syntax.Template{{Name: "snippet", Text: translate(s.manifest())}},
	})
	if err != nil {
		return nil, err
	}
	objects, err := program.Child("snippet", &render.Input{Parent: map[string]any{
		"apiVersion": "example.org/v1",
		"kind":       "Chart",
		"metadata":   map[string]any{"name": "chart", "namespace": "default", "uid": "0"},
	}})
	if err != nil {
		return nil, err
	}
	var documents []any
	for _, o := range objects {
		documents = append(documents, o.Content)
	}
	return documents, nil
}

// translate converts a chart's template for templater: only .Values is renamed.
func translate(template string) string { return strings.ReplaceAll(template, ".Values", ".values") }
