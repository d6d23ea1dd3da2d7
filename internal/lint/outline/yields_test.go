package outline

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func TestYieldedKinds(t *testing.T) {
	pod, service, deployment := Yield{APIVersion: "v1", Kind: "Pod"}, Yield{APIVersion: "v1", Kind: "Service"}, Yield{APIVersion: "apps/v1", Kind: "Deployment"}
	binding := func(role string) []Yield { return []Yield{{APIVersion: "v1", Kind: "RoleBinding", Role: role}} }
	const head = "apiVersion: v1\nkind: RoleBinding\n"
	for why, row := range map[string]struct {
		text     string
		want     []Yield
		complete bool
	}{
		"a manifest":                         {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", []Yield{pod}, true},
		"kind first, quoted, with a comment": {"kind: \"Pod\" # one\napiVersion: 'v1'\n", []Yield{pod}, true},
		"many documents":                     {"apiVersion: v1\nkind: Pod\n---\napiVersion: apps/v1\nkind: Deployment\n--- # end\n", []Yield{pod, deployment}, true},
		"one kind twice":                     {"apiVersion: v1\nkind: Pod\n---\napiVersion: v1\nkind: Pod\n", []Yield{pod}, true},
		"a loop over documents":              {"{{ range $i := until 3 }}\n---\napiVersion: v1\nkind: Pod\n{{ end }}", []Yield{pod}, true},
		"a whole object on a condition":      {"{{- if .spec.a }}\napiVersion: v1\nkind: Pod\n{{- end }}", []Yield{pod}, true},
		"a kind of two":                      {"apiVersion: v1\n{{- if .spec.a }}\nkind: Pod\n{{- else }}\nkind: Service\n{{- end }}\n", []Yield{pod, service}, true},
		"a kind of two on one line":          {"apiVersion: v1\nkind: {{ if .spec.a }}Pod{{ else }}Service{{ end }}\n", []Yield{pod, service}, true},
		"a version of two":                   {"{{ if .spec.a }}apiVersion: v1{{ else }}apiVersion: v2{{ end }}\nkind: Pod\n", []Yield{pod, {APIVersion: "v2", Kind: "Pod"}}, true},
		"two whole heads":                    {"{{ if .spec.a }}apiVersion: v1\nkind: Pod{{ else }}apiVersion: apps/v1\nkind: Deployment{{ end }}\n", []Yield{pod, deployment}, true},
		"ambiguous apiVersion and kind":      {"apiVersion: v1\n{{ if .spec.a }}apiVersion: v2\n{{ end }}kind: Pod\n{{ if .spec.a }}kind: A\n{{ end }}{{ if .spec.a }}kind: B{{ end }}", nil, false},
		"a nested kind is none":              {"apiVersion: v1\nkind: Pod\nspec:\n  ref: {kind: Service, apiVersion: v1}\n  other:\n    kind: Secret\n", []Yield{pod}, true},
		"an indented object":                 {"  apiVersion: v1\n  kind: Pod\n  spec:\n    kind: x\n", []Yield{pod}, true},
		"a helper that is the object":        {`{{ define "own" }}apiVersion: v1` + "\nkind: Pod\n" + `{{ end }}{{ include "own" . }}`, []Yield{pod}, true},
		"a shared helper":                    {`{{ template "web" . }}`, []Yield{deployment}, true},
		"a helper for the kind":              {"apiVersion: v1\nkind: {{ template \"kind\" }}\n", []Yield{pod}, true},
		"a helper behind a function":         {`{{ include "web" . | trim }}`, nil, false},
		"a helper by a computed name":        {`{{ include .spec.name . }}`, nil, false},
		"a helper that calls itself":         {`{{ template "again" . }}`, nil, false},
		"a printed object":                   {"{{ toYaml .spec.object }}", nil, false},
		"fields that are printed":            {"apiVersion: v1\nkind: Pod\n{{ toYaml .spec.object }}\n", []Yield{pod}, true},
		"a kind that is printed":             {"apiVersion: v1\nkind: {{ .spec.kind }}\n", nil, false},
		"nothing is printed":                 {"{{ $a := 1 }}{{ if .spec.a }}{{ fail \"no\" }}{{ end }}\n# comment\n---\n", nil, true},
		"JSON":                               {`{"metadata": {"ownerReferences": [{"kind": "X"}]}, "kind": "Pod", "apiVersion": "v1"}`, []Yield{pod}, true},
		"a binding":                          {head + "roleRef:\n  # whose\n  apiGroup: x\n\n  kind: ClusterRole\n  name: \"a:b.c\" # all\nsubjects:\n- {kind: User, name: u}\n", binding("clusterroles/a:b.c"), true},
		"a binding on one line":              {head + "roleRef: {kind: Role, name: a}\nsubjects: []\n", binding("roles/a"), true},
		"a binding in JSON":                  {`{"apiVersion": "v1", "kind": "RoleBinding", "roleRef": {"kind": "Role", "name": "a"}, "metadata": {"name": "n"}}`, binding("roles/a"), true},
		"a binding to a printed role":        {head + "roleRef: {kind: Role, name: {{ .spec.a }}}\n", binding(""), true},
		"a binding to a role, partly text":   {head + "roleRef:\n  kind: Role\n  name: a-{{ .spec.a }}\n", binding(""), true},
		"a binding to one of two roles":      {head + "roleRef:\n  kind: Role\n{{ if .spec.a }}\n  name: a\n{{ else }}\n  name: b\n{{ end }}\n", binding(""), true},
		"a binding with two references":      {head + "{{ if .spec.a }}\nroleRef: {kind: Role, name: a}\n{{ else }}\nroleRef: {kind: Role, name: b}\n{{ end }}\n", binding(""), true},
		"a binding without the role's kind":  {head + "roleRef:\n  name: a\nkind: RoleBinding\n", binding(""), true},
		"a flow mapping with a string":       {"{apiVersion: v1, a: '}', kind: Pod}", []Yield{pod}, true},
	} {
		t.Run(why, func(t *testing.T) {
			p, err := render.Compile(render.Source{
				Helpers:  `{{ define "web" }}apiVersion: apps/v1` + "\nkind: Deployment\n" + `{{ end }}{{ define "kind" }}Pod{{ end }}{{ define "again" }}{{ if .spec.a }}{{ template "again" . }}{{ end }}{{ end }}`,
				Children: []syntax.Template{{Name: "a", Text: row.text}},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, complete := Yields(p, "a")
			if diff := cmp.Diff(row.want, got); diff != "" || complete != row.complete {
				t.Errorf("complete: %v, want %v; (-want +got)\n%s", complete, row.complete, diff)
			}
		})
	}
}
