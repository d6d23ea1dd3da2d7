package spec

import (
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

func TestFilterMustNotReadFieldsWrittenByTemplater(t *testing.T) {
	none := ""
	for why, row := range map[string]struct {
		apiVersion, kind, filter string
		status                   *v1.ParentStatus
		refused                  string
	}{
		"another field":                            {"example.org/v1", "App", `eq .spec.class "a"`, nil, ""},
		"an annotation of templater":               {"example.org/v1", "App", `empty (index .metadata.annotations "templater.dev/suspend")`, nil, "templater.dev/"},
		"finalizers":                               {"example.org/v1", "App", `empty .metadata.finalizers`, nil, ".metadata.finalizers"},
		"the status, where the ready condition is": {"example.org/v1", "App", `eq .status.phase "a"`, nil, ".status"},
		"the status of the whole":                  {"example.org/v1", "App", `eq .parent.status.phase "a"`, nil, ".parent.status"},
		"the status, where nothing is written":     {"example.org/v1", "App", `eq .status.phase "a"`, &v1.ParentStatus{ReadyCondition: &none}, ""},
		"the status of a built-in kind":            {"v1", "Pod", `eq .status.phase "Running"`, nil, ""},
	} {
		t.Run(why, func(t *testing.T) {
			_, rejection := Compile("x", &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: row.apiVersion, Kind: row.kind, Filter: row.filter}, Status: row.status})
			switch {
			case row.refused == "" && rejection != nil:
				t.Errorf("refused: %s", rejection.Message)
			case row.refused != "" && (rejection == nil || !strings.Contains(rejection.Message, row.refused)):
				t.Errorf("rejection %v, want one of %s", rejection, row.refused)
			}
		})
	}
}
