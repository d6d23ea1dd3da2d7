package chart

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestInvalidKindsAreRejected(t *testing.T) {
	if _, err := Convert(small(map[string]string{"templates/c.yaml": configMap}), schema.GroupVersionKind{Group: "charts", Version: "v1"}, false); err == nil || !strings.HasPrefix(err.Error(), `--group "charts": `) {
		t.Errorf("got error %v", err)
	}
}

// TestConversionRules has a row for each rule: what is in all that is made of a chart, with its notes, and what is not. A want that begins with
// "no " is not there.
func TestConversionRules(t *testing.T) {
	use := func(action string) string { return configMap + "data: {a: {{ " + action + " }}}\n" }
	job := func(hook string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j\n  annotations:\n    helm.sh/hook: " + hook + "\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n"
	}
	for why, row := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a define that is there twice": {
			map[string]string{"templates/_a.tpl": `{{ define "x" }}first{{ end }}`, "templates/_b.tpl": "\n" + `{{ define "x" }}two{{ end }}`, "templates/c.yaml": use(`include "x" .`)},
			[]string{`templates/_a.tpl:1: define "x" is overridden by the one in templates/_b.tpl`, "two", "no first"},
		},
		"a file that is read": {
			map[string]string{"a.txt": "text of a", "b.txt": "text of b", "templates/c.yaml": use(`.Files.Get "a.txt" | quote`)},
			[]string{"a.txt: text of a", "no text of b"},
		},
		"a file that is not there": {
			map[string]string{"b.txt": "text of b", "templates/a.yaml": configMap, "templates/c.yaml": use(`.Files.Get "a.txt" | quote`)},
			[]string{"a.txt: templates read this file, but it does not exist", "no text of b"},
		},
		"files whose names are computed": {
			map[string]string{"a.txt": "text of a", "b/c.txt": "text of c", "values.yaml": "file: a.txt\n", "templates/c.yaml": use(".Files.Get .Values.file | quote")},
			[]string{"a.txt: text of a", "b/c.txt: text of c", "no values.yaml: ", "no Chart.yaml: ", "no templates/c.yaml: "},
		},
		"API versions": {
			map[string]string{"templates/c.yaml": use(`if or (.Capabilities.APIVersions.Has "apps/v1/Deployment") (.Capabilities.APIVersions.Has "autoscaling/v2") (.Capabilities.APIVersions.Has "example.org/v1") }}x{{ end`)},
			[]string{"apiVersions:\n    - apps/v1/Deployment\n    - autoscaling/v2\n  ", "API versions are not detected"},
		},
		"no API version": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": use(".Capabilities.APIVersions.Has")},
			[]string{"templates/c.yaml:4: .Capabilities.APIVersions.Has is not supported; the template is skipped"},
		},
		"no name of a file": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": use(".Files.Get")},
			[]string{"templates/c.yaml:4: .Files.Get is not supported; the template is skipped"},
		},
		"other parts of Helm's objects": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": use(".Capabilities.HelmVersion"), "templates/d.yaml": use(".Release.Time"), "templates/e.yaml": use(".Chart.Maintainers.Name"), "templates/f.yaml": use(".Template.BasePath")},
			[]string{"c.yaml:4: .Capabilities.HelmVersion is not supported; the template", "d.yaml:4: .Release.Time is not supported; the template", "e.yaml:4: .Chart.Maintainers.Name is not supported; the template", "f.yaml:4: .Template.BasePath is not supported; the template"},
		},
		"a file of helpers alone": {
			map[string]string{"templates/helpers.tpl": `{{ define "x" }}one{{ end }}`, "templates/c.yaml": use(`include "x" .`)},
			[]string{"- name: c\n", "no - name: helpers\n"},
		},
		"a define that is wrong twice": {
			map[string]string{"templates/_a.tpl": "{{ define \"x\" }}{{ nothing }}\n{{ nothing }}{{ end }}", "templates/b.yaml": configMap, "templates/c.yaml": use(`include "x" .`)},
			[]string{"templates/_a.tpl:1: unknown function nothing; define x is skipped\n", "no templates/_a.tpl:2: "},
		},
		"a chart that is none of its charts": {
			map[string]string{"other/Chart.yaml": "name: other\n", "charts/sub/Chart.yaml": "name: sub\n", "templates/c.yaml": configMap},
			[]string{"charts/sub: the subchart is skipped", "no charts/other"},
		},
		"an API version that is computed": {
			map[string]string{"values.yaml": "version: v1\n", "templates/a.yaml": configMap, "templates/c.yaml": use(".Capabilities.APIVersions.Has .Values.version")},
			[]string{"templates/c.yaml:4: .Capabilities.APIVersions.Has is not supported; the template is skipped"},
		},
		"ignored files": {
			map[string]string{".helmignore": "# [\n\na.txt/\n/b.txt\nsub/\n", "a.txt": "text of a", "b.txt": "text of b", "sub/c.txt": "text of c", "values.yaml": "file: a.txt\n", "templates/c.yaml": use(".Files.Get .Values.file | quote")},
			[]string{"a.txt: text of a", "no text of b", "no text of c"},
		},
		"a hook and another object in one file": {
			map[string]string{"templates/c.yaml": job("pre-delete") + "---\n" + configMap},
			[]string{"  children:\n  # templates/c.yaml\n  - name: c\n    template: |\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n", "  finalize:\n    children:\n    # templates/c.yaml\n    - name: c2\n      template: |\n        apiVersion: batch/v1\n", "no helm.sh/hook: "},
		},
		"an object after a hook that is left out": {
			map[string]string{"templates/c.yaml": job("post-install") + "---\n" + configMap},
			[]string{"  children:\n  # templates/c.yaml\n  - name: c\n    template: |\n      ---\n      apiVersion: v1\n      kind: ConfigMap\n", "the hook post-install is skipped", "no kind: Job"},
		},
		"a hook and another object that share a variable": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": "{{ $n := .Release.Name }}\n" + configMap + "---\n" + job("pre-delete") + "---\n" + configMap + "data: {n: {{ $n }}}\n"},
			[]string{"  - name: c\n    template: |\n      {{ $n := .metadata.name }}\n      apiVersion: v1\n", "    - name: c2\n", "data: {n: {{ $n }}}"},
		},
		"a hook that needs a variable of another object": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": "{{ $n := .Release.Name }}\n" + configMap + "---\n" + job("pre-delete") + "# {{ $n }}\n"},
			[]string{"templates/c.yaml: the hook pre-delete shares a block or a variable of the template with other objects: split the file; skipped", "no kind: Job"},
		},
		"a hook and another object in one block": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": "{{ if .Values.a }}\n" + configMap + "---\n" + job("pre-delete") + "{{ end }}\n"},
			[]string{"templates/c.yaml: the hook pre-delete shares a block or a variable of the template with other objects: split the file; skipped", "no kind: Job"},
		},
		"annotations continued by an action": {
			map[string]string{"templates/a.yaml": configMap, "templates/c.yaml": "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  annotations:\n    helm.sh/hook: pre-delete\n  {{- toYaml .Values.more | nindent 4 }}\n"},
			[]string{" annotations:\n", "no helm.sh/hook: "},
		},
		"a mapping of which nothing is known": {
			map[string]string{"values.yaml": "free: {}\n", "templates/c.yaml": configMap},
			[]string{"free:\n                default: {}\n                type: object\n                x-kubernetes-preserve-unknown-fields: true\n"},
		},
		"fields and items, by the schema alone": {
			map[string]string{"values.yaml": "a: text\nb: text\n", "values.schema.json": `{"properties": {"a": {"type": "object", "properties": {"c": {"type": "string"}}}, "b": {"type": "string", "items": {"type": "string"}}}}`, "templates/c.yaml": configMap},
			[]string{"              a:\n                properties:\n                  c:\n                    type: string\n                type: object\n", "              b:\n                default: text\n                type: string\n"},
		},
		"helpers of a chart that is left out": {
			map[string]string{"charts/sub/Chart.yaml": "name: sub\n", "charts/sub/templates/_x.tpl": `{{ define "x" }}one{{ end }}`, "templates/a.yaml": configMap, "templates/c.yaml": use(`include "x" .`)},
			[]string{"charts/sub: the subchart is skipped", "the template is skipped", "no define \"x\""},
		},
		"an unused helper": {
			map[string]string{"templates/_a.tpl": `{{ define "x" }}one{{ end }}{{ define "y" }}two{{ end }}`, "templates/c.yaml": use(`include "x" .`)},
			[]string{`define "x"`, `no define "y"`},
		},
		"the revision": {map[string]string{"templates/c.yaml": use(".Release.Revision")}, []string{"templates/c.yaml:4: .Release.Revision: this is now metadata.generation of the parent"}},
		"a field of a text": {
			map[string]string{"values.yaml": "a: text\n", "templates/a.yaml": configMap, "templates/c.yaml": use(".Values.a.b")},
			[]string{"templates/c.yaml:4: ", "the template is skipped"},
		},
		"comments of values": {
			map[string]string{"values.yaml": "# About what is below.\n#\n# -- About\n# a.\n# @default none\na: text\n", "templates/c.yaml": configMap},
			[]string{"description: About a.\n"},
		},
		"lines of helpers": {
			map[string]string{"templates/_a.tpl": "\n\n{{ define \"x\" }}\n{{ .Release.Revision }}{{ end }}", "templates/c.yaml": use(`include "x" .`)},
			[]string{"templates/_a.tpl:4: .Release.Revision: "},
		},
		"no values":        {map[string]string{"values.yaml": "", "templates/c.yaml": configMap}, []string{"spec: {}"}},
		"values in a list": {map[string]string{"values.yaml": "- a\n", "templates/c.yaml": configMap}, []string{"spec: {}"}},
		"metadata of a schema": {
			map[string]string{"values.yaml": "a: text\n", "values.schema.json": `{"title": "Values", "description": "Of a chart."}`, "templates/c.yaml": configMap},
			[]string{"no Of a chart.", "no title: Values"},
		},
		"the name of the template": {map[string]string{"templates/c.yaml": use(".Template.Name")}, []string{`a: {{ "small" }}`}},
		"mappings that take from others": {
			map[string]string{"values.yaml": "one: &one {a: 11, b: 12}\ntwo: &two {b: 22, c: 23}\nboth: {c: 33, <<: [*one, *two], d: 34}\nlast: {a: 44, <<: *one}\n", "templates/c.yaml": configMap},
			[]string{"  both:\n    a: 11\n    b: 12\n    c: 33\n    d: 34\n  last:\n    a: 44\n    b: 12\n"},
		},
		"another type, by the schema": {
			map[string]string{"values.yaml": "a: text\nb: text\nc: 1\n", "values.schema.json": `{"properties": {"a": {"type": "object"}, "b": {"type": "array"}, "c": {"type": "string"}}}`, "templates/c.yaml": configMap},
			[]string{
				"              a:\n                type: object\n                x-kubernetes-preserve-unknown-fields: true\n" +
					"              b:\n                items:\n                  x-kubernetes-preserve-unknown-fields: true\n                type: array\n" +
					"              c:\n                type: string\n            type: object\n",
			},
		},
	} {
		t.Run(why, func(t *testing.T) {
			result, err := Convert(small(row.files), group, true)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, n := range result.Notes {
				all.WriteString(n.String() + "\n")
			}
			for _, f := range result.Files {
				if !strings.Contains(f.Name, "/") {
					all.WriteString("-- " + f.Name + " --\n" + f.Content)
				}
			}
			for _, want := range row.want {
				unwanted, no := strings.CutPrefix(want, "no ")
				if strings.Contains(all.String(), unwanted) == no {
					t.Errorf("want %q in\n%s", want, all.String())
				}
			}
		})
	}
}
