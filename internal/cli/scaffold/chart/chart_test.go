package chart

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/cli/scaffold"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
)

var update = flag.Bool("update", false, "write the golden files anew")

var group = schema.GroupVersionKind{Group: "charts.example.org", Version: "v1"}

// TestConvertedChartsMatchGoldenFiles converts each chart of testdata. What is made of it has neither errors nor warnings, and is in NAME.txtar, where the comment tells
// what of the chart is not in it.
func TestConvertedChartsMatchGoldenFiles(t *testing.T) {
	charts, err := filepath.Glob("testdata/*/Chart.yaml")
	if err != nil || len(charts) == 0 {
		t.Fatalf("got %d charts and error %v", len(charts), err)
	}
	for _, file := range charts {
		folder := filepath.Dir(file)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			result, err := Convert(os.DirFS(folder), group, false)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range findings(t, result) {
				t.Error(f)
			}
			got := &txtar.Archive{}
			for _, n := range result.Notes {
				got.Comment = append(got.Comment, n.String()+"\n"...)
			}
			for _, f := range result.Files {
				data := f.Content
				if strings.Contains(f.Name, "/") {
					data = "" // a copy of a file of the chart
				}
				got.Files = append(got.Files, txtar.File{Name: f.Name, Data: []byte(data)})
			}
			golden := folder + ".txtar"
			if *update {
				if err := os.WriteFile(golden, txtar.Format(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Errorf("-want +got; go test -update writes it:\n%s", diff)
			}
		})
	}
}

// fileOf returns a file of a result.
func fileOf(t *testing.T, result *scaffold.Result, name string) string {
	t.Helper()
	for _, f := range result.Files {
		if f.Name == name {
			return f.Content
		}
	}
	t.Fatalf("no %s", name)
	return ""
}

// findings returns all that is said of the TemplateController.
func findings(t *testing.T, result *scaffold.Result) []string {
	t.Helper()
	sets := []openapi.Set{openapi.BuiltIn()}
	for _, f := range result.Files {
		if f.Name != "crd.yaml" && !strings.HasPrefix(f.Name, "crds/") {
			continue
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict([]byte(f.Content), definition); err != nil {
			t.Fatal(err)
		}
		sets = append(sets, openapi.FromCRD(definition))
	}
	tc := &v1.TemplateController{}
	if err := yaml.UnmarshalStrict([]byte(fileOf(t, result, "templatecontroller.yaml")), tc); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range lint.Check(tc, openapi.Join(sets...)).Findings {
		all = append(all, string(f.Severity)+" "+f.String())
	}
	return all
}

// small is a chart of a few files.
func small(files map[string]string) fs.FS {
	out := fstest.MapFS{"Chart.yaml": {Data: []byte("name: small\nversion: 1.0.0\n")}}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestMistakesAreReported(t *testing.T) {
	for why, row := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no chart":               {map[string]string{"Chart.yaml": ""}, "Chart.yaml: the chart has no name"},
		"a library":              {map[string]string{"Chart.yaml": "name: a\ntype: library\n"}, "Chart.yaml: a library chart renders no objects: pass a chart that uses it"},
		"no YAML":                {map[string]string{"Chart.yaml": "a: ["}, "Chart.yaml: error converting YAML to JSON: "},
		"values that are none":   {map[string]string{"values.yaml": "a: [", "templates/a.yaml": configMap}, "values.yaml: "},
		"a schema that is none":  {map[string]string{"values.schema.json": "{", "templates/a.yaml": configMap}, "values.schema.json: "},
		"no template":            {nil, "no template of the chart can be converted"},
		"no template that works": {map[string]string{"templates/a.yaml": configMap + "data: {a: {{ .Files.Lines \"a\" }}}\n"}, "no template of the chart can be converted: templates/a.yaml:4: .Files.Lines is not supported"},
	} {
		t.Run(why, func(t *testing.T) {
			if _, err := Convert(small(row.files), group, false); err == nil || !strings.HasPrefix(err.Error(), row.want) {
				t.Errorf("got error %v, want %q", err, row.want)
			}
		})
	}
	if _, err := Convert(fstest.MapFS{}, group, false); err == nil || err.Error() != "no Chart.yaml: pass the directory of a chart" {
		t.Errorf("got error %v for an empty folder", err)
	}
}

// TestRewriteOfHelmReferences has a row for each thing that templates of charts read.
func TestRewriteOfHelmReferences(t *testing.T) {
	for from, want := range map[string]string{
		`{{ .Values.a.b }}{{ $.Values }}`:                                   `{{ .spec.a.b }}{{ $.spec }}`,
		`{{ .ctx.Values.a }}{{ $x.Chart.Name }}`:                            `{{ .ctx.spec.a }}{{ $x.values.chart.name }}`,
		`{{ "text .Values.a" }}{{/* .Values.a */}}.Values`:                  `{{ "text .Values.a" }}{{/* .Values.a */}}.Values`,
		`{{ tpl (.Values.a }}`:                                              `{{ tpl (.spec.a }}`,
		`{{ include (print .Values.a "/a.yaml") . }}`:                       `{{ include (print .spec.a "/a.yaml") . }}`,
		`{{ include (printf $.Template.BasePath "/a.yaml") . }}`:            `{{ include (printf $.Template.BasePath "/a.yaml") . }}`,
		`{{ include (print $.Template.BasePath "/a.yaml" .x) . }}`:          `{{ include (print $.Template.BasePath "/a.yaml" .x) . }}`,
		`{{ (randAlphaNum 5) }}`:                                            `{{ (required "set spec.values.todo.randAlphaNum" $.values.todo.randAlphaNum) }}`,
		`{{/* }} {{ .Values.a }} */}}{{ .Values.b }}`:                       `{{/* }} {{ .Values.a }} */}}{{ .spec.b }}`,
		`{{ include (print }}`:                                              `{{ include (print }}`,
		`{{ list (randAlphaNum 5) }}`:                                       `{{ list (required "set spec.values.todo.randAlphaNum" $.values.todo.randAlphaNum) }}`,
		`{{ default .a randAlphaNum }}`:                                     `{{ default .a required "set spec.values.todo.randAlphaNum" $.values.todo.randAlphaNum }}`,
		"{{-\n/* .Values.a }} */}}{{ .Values.b }}":                          "{{-\n/* .Values.a }} */}}{{ .spec.b }}",
		"{{-\t/* .Values.a }} */}}{{ .Values.b }}":                          "{{-\t/* .Values.a }} */}}{{ .spec.b }}",
		"{{ `.Values` }}{{- .Values.a -}}":                                  "{{ `.Values` }}{{- .spec.a -}}",
		`{{ .Release.Name }}{{ .Release.Namespace }}`:                       `{{ .metadata.name }}{{ .metadata.namespace }}`,
		`{{ .Release.Service }}{{ .Release.IsUpgrade }}`:                    `{{ "templater" }}{{ false }}`,
		`{{ tpl (toYaml .Values.a) $ | nindent 2 }}`:                        `{{ (toYaml .spec.a) | nindent 2 }}`,
		`{{ tpl .Values.a . }}`:                                             `{{ .spec.a }}`,
		`{{ .Values.a | tpl . }}`:                                           `{{ .spec.a | tpl . }}`,
		`{{ if (lookup "v1" "Secret" .Release.Namespace "a").data }}`:       `{{ if (dict).data }}`,
		`{{ randAlphaNum 5 | b64enc }}`:                                     `{{ required "set spec.values.todo.randAlphaNum" $.values.todo.randAlphaNum | b64enc }}`,
		`{{ default (randAlphaNum (int 5)) .Values.p }}`:                    `{{ default ($.values.todo.randAlphaNum) .spec.p }}`,
		`{{ include (print $.Template.BasePath "/a.yaml") . }}`:             `{{ include "a.yaml" . }}`,
		`{{ .Files.Get "a.txt" | quote }}`:                                  `{{ index .values.files "a.txt" | quote }}`,
		`{{ .Capabilities.KubeVersion.Version }}`:                           `{{ .values.kubeVersion }}`,
		`{{ if and .Values.a (.Capabilities.APIVersions.Has "v1") }}`:       `{{ if and .spec.a (has "v1" .values.apiVersions) }}`,
		`{{ range $k, $v := .Values.a }}{{ $v.Values2 }}{{ 1.5 }}{{ 'a' }}`: `{{ range $k, $v := .spec.a }}{{ $v.Values2 }}{{ 1.5 }}{{ 'a' }}`,
		`{{ .Subcharts.a }}`:                                                `{{ .Subcharts.a }}`,
		"{{ randInt\n1\n2 }}\nx":                                            "{{ required \"set spec.values.todo.randInt\" $.values.todo.randInt\n\n }}\nx",
		`{{ .Values.a`:                                                      `{{ .Values.a`,
		`{{/* .Values.a`:                                                    `{{/* .Values.a`,
	} {
		if got := newRewriter("small", nil).rewrite("a.yaml", from); got != want {
			t.Errorf("%s\n got %s\nwant %s", from, got, want)
		}
	}
}

func TestSplitExtractsDefines(t *testing.T) {
	if defines, rest := split("a.tpl", "{{ }}{{ define }}{{ end }}"); len(defines) > 0 || rest != "{{ }}{{ define }}{{ end }}" {
		t.Errorf("of actions that say nothing: %v, %q", defines, rest)
	}
	defines, rest := split("a.tpl", "a: 1\n{{- define \"x\" }}\n{{ if .a }}{{ range .b }}c{{ end }}{{ end }}\n{{- end }}\nb: 2\n{{ if .c }}d{{ end }}\n{{ define \"y\" }}e{{ end }}")
	var got []string
	for _, d := range defines {
		got = append(got, d.name+" "+d.text)
	}
	want := []string{"x {{- define \"x\" }}\n{{ if .a }}{{ range .b }}c{{ end }}{{ end }}\n{{- end }}", "y {{ define \"y\" }}e{{ end }}"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("a: 1\n\n\n\nb: 2\n{{ if .c }}d{{ end }}\n", rest); diff != "" || defines[0].line != 2 || defines[1].line != 7 {
		t.Errorf("lines %d and %d, rest (-want +got):\n%s", defines[0].line, defines[1].line, diff)
	}
}

// TestSchemaFromValues reads values with comments, and a schema that says more.
func TestSchemaFromValues(t *testing.T) {
	values := "# -- How many.\nreplicas: 2\n\nname: a\nratio: 0.5\non: true\nempty:\nlist: [a, b]\nmixed: [a, 1]\nobjects: [{a: 1}]\nbase: &base {x: 1}\nother:\n  <<: *base\n  y: *base\n"
	by := `{"properties": {"replicas": {"type": "integer", "minimum": 1, "not": {}}, "name": {"type": ["string", "null"], "enum": ["a", "b"]}, "free": {"type": "object"}, "list": {"type": "array", "items": {"type": "string", "maxLength": 3}}, "ratio": {"type": "string"}}, "required": ["name"]}`
	result, err := Convert(small(map[string]string{"values.yaml": values, "values.schema.json": by, "templates/a.yaml": configMap + "data: {{ toYaml .Values.more | nindent 2 }}\n"}), group, true)
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(fileOf(t, result, "crd.yaml")), definition); err != nil {
		t.Fatal(err)
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","required":["name"],"properties":{` +
		`"base":{"type":"object","default":{},"properties":{"x":{"type":"integer","format":"int64","default":1}}},` +
		`"empty":{"x-kubernetes-preserve-unknown-fields":true},` +
		`"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},` +
		`"list":{"type":"array","default":["a","b"],"items":{"type":"string","maxLength":3}},` +
		`"mixed":{"type":"array","default":["a",1],"items":{"x-kubernetes-preserve-unknown-fields":true}},` +
		`"more":{"x-kubernetes-preserve-unknown-fields":true},` +
		`"name":{"type":"string","default":"a","enum":["a","b"],"nullable":true},` +
		`"objects":{"type":"array","default":[{"a":1}],"items":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},` +
		`"on":{"type":"boolean","default":true},` +
		`"other":{"type":"object","default":{},"properties":{"x":{"type":"integer","format":"int64","default":1},"y":{"type":"object","default":{},"properties":{"x":{"type":"integer","format":"int64","default":1}}}}},` +
		`"ratio":{"type":"string"},` +
		`"replicas":{"description":"How many.","type":"integer","format":"int64","default":2,"minimum":1}}}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := result.Notes[0].String(); got != "values.schema.json: spec.replicas: not is dropped: a CustomResourceDefinition does not support this keyword here" {
		t.Errorf("got note %s", got)
	}
}
