package outline_test

import (
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
)

// TestConcatenatedNumbers has what stands where a whole number is wanted. Where that is told to be text, it is rendered as text.
func TestConcatenatedNumbers(t *testing.T) {
	for text, told := range map[string]bool{
		"{{ .spec.replicas }}0":                                                true,
		"{{ .spec.replicas }}m":                                                true,
		"-{{ .spec.replicas }}":                                                true,
		"1{{ .spec.replicas }}":                                                true,
		"{{ .spec.replicas }}{{ .spec.replicas }}0":                            true,
		"{{ .spec.replicas -}} 0":                                              true,
		"{{ if .spec.paused }}{{ .spec.replicas }}0{{ else }}1{{ end }}":       true,
		"{{ add .spec.replicas 1 }}0":                                          true,
		"{{ .spec.replicas }} # replicas":                                      false,
		"{{ .spec.replicas }}":                                                 false,
		"{{ if .spec.paused }}0{{ else }}{{ .spec.replicas }}{{ end }}":        false,
		"{{ if .spec.paused }}0{{ end }}{{ if not .spec.paused }}1{{ end }}":   false,
		"{{ include \"one\" . }}0":                                             false,
		"{{ $x := .spec.replicas }}0{{/* nothing */}}":                         false,
		"{{ range until 2 }}{{ if . }}{{ $.spec.replicas }}{{ end }}{{ end }}": false,
		"&n {{ .spec.replicas }}":                                              false,
		"!!int {{ .spec.replicas }}":                                           false,
		"{{/* at least one */}}1":                                              false,
	} {
		s := &v1.TemplateControllerSpec{
			Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, Helpers: `{{ define "one" }}1{{ end }}`, Status: &v1.ParentStatus{Template: `x: {{ include "one" . }}`},
			Children: []v1.Child{{Name: "x", Template: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: " + text + "\n"}},
		}
		got := filtered(onlyOf(t, finding.FieldType, s, openapi.BuiltIn()), "combination of actions and text")
		if (len(got) == 1) != told || len(got) > 1 {
			t.Errorf("%s: %q", text, got)
		}
		if !told {
			continue
		}
		compiled, rejection := spec.Compile("x", s)
		if rejection != nil {
			t.Fatalf("%s: %s", text, rejection.Message)
		}
		objects, err := compiled.Program.Child("x", &render.Input{Parent: map[string]any{"spec": map[string]any{"replicas": int64(3), "paused": true}}})
		if err != nil {
			t.Errorf("%s: %s", text, err)
			continue
		}
		fields, _ := objects[0].Content["spec"].(map[string]any)
		if _, isText := fields["replicas"].(string); !isText {
			t.Errorf("%s is rendered as %v", text, fields["replicas"])
		}
	}
}

// filtered returns the texts that have a part.
func filtered(all []string, part string) (some []string) {
	for _, text := range all {
		if strings.Contains(text, part) {
			some = append(some, text)
		}
	}
	return some
}
