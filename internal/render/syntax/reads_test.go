package syntax

import "testing"

func TestReadsOfTemplates(t *testing.T) {
	nothing, status, children, both := Reads{}, Reads{Status: true}, Reads{Children: true}, Reads{Status: true, Children: true}
	for why, row := range map[string]struct {
		helpers, child, status string
		want                   Reads
	}{
		"neither":                               {child: `a: {{ .spec.a }}`, status: `a: {{ .metadata.name }}`, want: nothing},
		"the status in a status template":       {status: `a: {{ .status.a }}`, want: status},
		"the status in a child's template":      {child: `a: {{ .status.a }}`, want: status},
		"the whole parent":                      {child: `a: {{ toJson .parent }}`, want: status},
		"the status in the parent":              {child: `a: {{ .parent.status.a }}`, want: status},
		"another part of the parent":            {child: `a: {{ .parent.spec.a }}`, want: nothing},
		"children in a child's template":        {child: `a: {{ len .observed.a }}`, want: children},
		"children in the status template":       {status: `a: {{ len .children.a }}`, want: nothing},
		"by the dollar":                         {child: `{{ range .spec.a }}a: {{ $.status.a }}{{ len $.observed.a }}{{ end }}`, want: both},
		"in a condition":                        {child: `{{ if .status.a }}{{ end }}`, want: status},
		"in an else":                            {child: `{{ if .spec.a }}{{ else }}{{ len .observed.a }}{{ end }}`, want: children},
		"in parentheses":                        {child: `a: {{ (index .status "a").b }}`, want: status},
		"by a variable":                         {child: `{{ $s := .status }}a: {{ $s.a }}`, want: status},
		"by a variable for all":                 {child: `{{ $s := . }}a: {{ $s.spec }}`, want: both},
		"by a variable for all, in with":        {child: `{{ with $s := . }}a: {{ $s.spec }}{{ end }}`, want: both},
		"by the root as an argument":            {child: `a: {{ index . "spec" }}`, want: both},
		"by the dollar as an argument":          {child: `a: {{ index $ "spec" }}`, want: both},
		"in with, of the root":                  {child: `{{ with . }}a: {{ .status }}{{ end }}`, want: status},
		"not in with, of the root":              {child: `{{ with . }}a: {{ .spec }}{{ end }}`, want: nothing},
		"in range over the root":                {child: `{{ range . }}{{ with . }}a: {{ toJson . }}{{ end }}{{ end }}`, want: both},
		"in range over the dollar":              {child: `{{ range $ }}{{ with . }}a: {{ toJson . }}{{ end }}{{ end }}`, want: both},
		"a field of that name elsewhere":        {child: `{{ with .spec }}a: {{ .status }}{{ .observed }}{{ end }}`, want: nothing},
		"in a template that gets the root":      {child: `{{ define "x" }}{{ .status.a }}{{ end }}a: {{ template "x" . }}`, want: status},
		"not in a template that gets a part":    {child: `{{ define "x" }}{{ .status.a }}{{ end }}a: {{ template "x" .spec }}`, want: nothing},
		"in an include that gets the root":      {helpers: `{{ define "x" }}{{ $.status.a }}{{ end }}`, child: `a: {{ include "x" . }}`, want: status},
		"not in an include that does not":       {helpers: `{{ define "x" }}{{ .spec.a }}{{ end }}`, child: `a: {{ include "x" . }}`, want: nothing},
		"in an include of an include":           {helpers: `{{ define "x" }}{{ include "y" $ }}{{ end }}{{ define "y" }}{{ len .observed.a }}{{ end }}`, child: `a: {{ include "x" . }}`, want: children},
		"in an include whose name is no text":   {helpers: `{{ define "x" }}{{ .spec.a }}{{ end }}`, child: `a: {{ include .spec.name . }}`, want: both},
		"in an include that gets a dict":        {helpers: `{{ define "x" }}{{ .root.spec.a }}{{ end }}`, child: `a: {{ include "x" (dict "root" .) }}`, want: both},
		"a helper for status and child":         {helpers: `{{ define "x" }}{{ len .observed.a }}{{ end }}`, child: `a: {{ .spec.a }}`, status: `a: {{ include "x" . }}`, want: nothing},
		"a helper for status, then for a child": {helpers: `{{ define "x" }}{{ len .observed.a }}{{ end }}`, child: `a: {{ include "x" . }}`, status: `a: {{ include "x" . }}`, want: children},
	} {
		t.Run(why, func(t *testing.T) {
			if row.child == "" {
				row.child = "a: b"
			}
			got, err := Parse(Source{Helpers: row.helpers, Children: []Template{{"a", row.child}}, Status: row.status, Functions: testFunctions})
			if err != nil {
				t.Fatal(err)
			}
			if got.Reads != row.want {
				t.Errorf("got %+v, want %+v", got.Reads, row.want)
			}
		})
	}
}
