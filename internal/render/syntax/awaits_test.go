package syntax

import (
	"slices"
	"testing"
)

func TestTemplateAwaitsChildrenItReads(t *testing.T) {
	const helpers = `{{ define "db" }}{{ .children.db }}{{ end }}{{ define "all" }}{{ include "db" . }}{{ template "jobs" $ }}{{ end }}` +
		`{{ define "jobs" }}{{ len $.children.jobs }}{{ end }}{{ define "a" }}{{ include "b" . }}{{ .children.db }}{{ end }}{{ define "b" }}{{ include "a" . }}{{ .children.jobs }}{{ end }}`
	for why, row := range map[string]struct {
		web  string
		want []string
	}{
		"none":                           {`{{ .spec.a }}`, nil},
		"one":                            {`{{ len .children.db }}`, []string{"db"}},
		"two, sorted, each once":         {`{{ .children.jobs }}{{ .children.db }}{{ .children.jobs }}`, []string{"db", "jobs"}},
		"by the dollar":                  {`{{ range .spec.a }}{{ $.children.db }}{{ end }}`, []string{"db"}},
		"a field of an object":           {`{{ (index .children.db 0).status.ip }}`, []string{"db"}},
		"in range, with, if and else":    {`{{ range .children.db }}{{ else }}{{ with $.children.jobs }}{{ end }}{{ end }}`, []string{"db", "jobs"}},
		"by include":                     {`{{ include "db" . }}`, []string{"db"}},
		"by an include of an include":    {`{{ include "all" . }}`, []string{"db", "jobs"}},
		"by includes of each other":      {`{{ if .spec.a }}{{ include "a" . }}{{ end }}`, []string{"db", "jobs"}},
		"by its own define block":        {`{{ define "x" }}{{ .children.db }}{{ end }}{{ template "x" . }}`, []string{"db"}},
		"not by an uncalled block":       {`{{ define "x" }}{{ .children.db }}{{ end }}`, nil},
		"not by an include of a part":    {`{{ include "db" .spec }}`, nil},
		"not its own name":               {`{{ .children.web }}{{ .children.db }}`, []string{"db"}},
		"not what is observed":           {`{{ .observed.db }}`, nil},
		"not by a name that is computed": {`{{ index .children .spec.name }}`, nil},
		"not a field of that name":       {`{{ with .spec }}{{ .children.db }}{{ end }}`, nil},
	} {
		// db comes first and calls the same helpers: they are checked once, and count for each that calls them.
		got, err := Parse(Source{Helpers: helpers, Children: []Template{{"db", `{{ include "all" . }}`}, {"web", row.web}, {"jobs", "a"}}, Status: `a: {{ .children.jobs }}`, Functions: testFunctions})
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		if !slices.Equal(got.Awaits[1], row.want) {
			t.Errorf("%s: awaits %v, want %v", why, got.Awaits[1], row.want)
		}
		if !slices.Equal(got.Awaits[0], []string{"jobs"}) || len(got.Awaits[2]) != 0 {
			t.Errorf("%s: the others await %v", why, got.Awaits)
		}
	}
}
