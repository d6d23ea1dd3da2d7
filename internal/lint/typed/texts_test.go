package typed

import (
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/finding"
)

// onlyOf returns the findings of a code in a spec, as text.
func onlyOf(t *testing.T, code finding.Code, s *v1.TemplateControllerSpec, known openapi.Set) []string {
	t.Helper()
	compiled, rejection := spec.Compile("x", s)
	if rejection != nil {
		t.Fatalf("%+v: %s", s, rejection.Message)
	}
	var all []string
	for _, f := range Check(nil, &v1.TemplateController{Spec: *s}, compiled.Program, known) {
		if f.Code == code {
			all = append(all, show(f))
		}
	}
	return all
}

func TestReadyWhenMustReadObject(t *testing.T) {
	const same = "does not read .object, so it returns the same for all objects of this child template"
	for text, want := range map[string]string{
		`eq .object.status.phase "Bound"`:                 "",
		`eq .status.phase "Bound"`:                        "warning TL051 children[pod].readyWhen:1:4+13 .status.phase belongs to the parent, and readyWhen " + same + "; did you mean .object.status.phase? -> .object.status.phase",
		`and .spec.paused (eq .object.status.phase "a")`:  "",
		`and true (gt (len .related.maps) 1)`:             "warning TL051 children[pod].readyWhen:1:1+35 readyWhen " + same,
		`true`:                                            "",
		`ready .object`:                                   "",
		`eq (include "phase" .) "Bound"`:                  "",
		`eq $.object.status.phase "Bound"`:                "",
		`eq (index .object.status "phase") .status.phase`: "",
	} {
		var got []string
		for _, f := range checked(t, given{readyWhen: text, helpers: `{{ define "phase" }}{{ .object.status.phase }}{{ end }}`}, known(t)) {
			if f.Code == finding.ReadyOfOthers {
				got = append(got, show(f))
			}
		}
		if text := strings.Join(got, "\n"); text != want {
			t.Errorf("%s: got %q, want %q", "readyWhen", text, want)
		}
	}
}

func TestAmbiguousYAMLScalars(t *testing.T) {
	const child = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
	for text, want := range map[string]string{
		"  a: yes":                              "warning TL052 children[pod]:5:6+3 unquoted yes is a boolean in some versions of YAML; write true or false, or quote it",
		"  a: [x, 0400]":                        "warning TL052 children[pod]:5:10+4 unquoted 0400 has different meanings in YAML versions; quote it, or write a decimal number",
		"  a: \"yes\"\n  b: 'on'":               "",
		"  a: |\n    yes":                       "",
		"  a: yes{{ .spec.image }}":             "",
		"  yes: a\n  on: b":                     "", // keys are what they say
		"  a: \"{{ toJson .spec }}\"":           "warning TL054 children[pod]:5:6+20 " + document.QuotesInQuotes,
		"  a: \"x {{ .spec.image | toJson }}\"": "warning TL054 children[pod]:5:6+30 " + document.QuotesInQuotes,
		"  a: '{{ toJson .spec }}'\n  b: {{ toJson .spec | quote }}\n  c: {{ toJson .spec }}": "",
	} {
		var got []string
		for _, f := range checked(t, given{child: child + text}, nil) {
			if f.Code == finding.PlainText || f.Code == finding.NoYAML {
				got = append(got, show(f))
			}
		}
		if all := strings.Join(got, "\n"); all != want {
			t.Errorf("%q: got %q, want %q", text, all, want)
		}
	}
	s := &v1.TemplateControllerSpec{
		Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, Status: &v1.ParentStatus{Template: "a: off"},
		Related: []v1.Related{{Name: "x", APIVersion: "v1", Kind: "Pod", Select: "name: no"}},
	}
	if got := onlyOf(t, finding.PlainText, s, nil); len(got) != 2 || !strings.Contains(got[0], "related[x].select:1:7+2 unquoted no") || !strings.Contains(got[1], "status:1:4+3 unquoted off") {
		t.Errorf("in a status and a select: %q", got)
	}
}

func TestDocumentsWithoutObject(t *testing.T) {
	const (
		whole = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
		at    = "warning TL053 children[pod]:"
		fails = "error TL053 children[pod]:"
		head  = " must be literal text in the template, so that the required permissions are known in advance; use if to choose between several"
		value = "a value cannot be a whole object: write apiVersion, kind and metadata.name in the template, and print the other fields below them"
		needs = ": every child needs apiVersion, kind and metadata.name"
	)
	const helpers = `{{ define "meta" }}metadata: {name: a}{{ end }}{{ define "written" }}ConfigMap{{ end }}{{ define "field" }}{{ .kind }}{{ end }}
		{{- define "printed" }}{{ if .spec.paused }}{{ print "ConfigMap" }}{{ else }}{{ print "Secret" }}{{ end }}{{ end }}
		{{- define "either" }}{{ if .spec.paused }}{{ print "ConfigMap" }}{{ else }}Secret{{ end }}{{ end }}`
	for text, want := range map[string]string{
		whole:                                  "",
		"kind: ConfigMap\nmetadata: {name: a}": at + "1:1+4 the document has no apiVersion" + needs,
		"apiVersion: v1\nmetadata: {name: a}":  at + "1:1+10 the document has no kind" + needs,
		"apiVersion: v1\nkind: ConfigMap":      at + "1:1+10 the document has no metadata.name" + needs,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}":                                                  at + "1:1+10 the document has no metadata.name" + needs,
		"apiVersion: v1\nkind: ConfigMap\n{{ include \"meta\" . }}":                                                    "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  {{- include \"meta\" . | nindent 2 }}":                          "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {{ toJson .metadata }}":                                            "",
		"apiVersion: v1\nkind: {{ .spec.mode }}\nmetadata: {name: a}":                                                  fails + "2:7+16 kind" + head,
		"apiVersion: v1\nkind: {{ $.spec.mode }}\nmetadata: {name: a}":                                                 fails + "2:7+17 kind" + head,
		"apiVersion: v1\nkind: \"{{ .spec.mode }}\"\nmetadata: {name: a}":                                              fails + "2:7+18 kind" + head,
		"apiVersion: v1\nkind: Config{{ .spec.mode }}\nmetadata: {name: a}":                                            fails + "2:7+22 kind" + head,
		"apiVersion: v1\nkind: {{ print \"ConfigMap\" }}\nmetadata: {name: a}":                                         fails + "2:7+23 kind" + head,
		"apiVersion: v1\nkind: {{ include \"printed\" . }}\nmetadata: {name: a}":                                       fails + "2:7+25 kind" + head,
		"apiVersion: v1\nkind: {{ template \"printed\" . }}\nmetadata: {name: a}":                                      fails + "2:7+26 kind" + head,
		"apiVersion: v1\nkind: {{ include \"written\" . }}\nmetadata: {name: a}":                                       "",
		"apiVersion: v1\nkind: {{ template \"written\" . }}\nmetadata: {name: a}":                                      "",
		"apiVersion: v1\nkind: {{ include \"either\" . }}\nmetadata: {name: a}":                                        "",
		"apiVersion: v1\nkind: {{ include \"field\" (dict \"kind\" (include \"written\" .)) }}\nmetadata: {name: a}":   at + "2:7+57 kind" + head,
		"apiVersion: v1\nkind: {{ if .spec.paused }}ConfigMap{{ else }}{{ .spec.mode }}{{ end }}\nmetadata: {name: a}": at + "2:7+65 kind" + head,
		"{{ $k := include \"written\" . }}\napiVersion: v1\nkind: {{ $k }}\nmetadata: {name: a}":                       "",
		"apiVersion: {{ .spec.version }}\nkind: ConfigMap\nmetadata: {name: a}":                                        fails + "1:13+19 apiVersion" + head,
		"apiVersion: v1\nkind: {a: b}\nmetadata: {name: a}":                                                            fails + "2:7+1 kind must be plain text in the template",
		"{{ toYaml .spec }}":     fails + "1:4+12 " + value,
		"{{ mustToJson .spec }}": fails + "1:4+16 " + value,
		"{{ range .spec.more }}\n---\n{{ toYaml . }}\n{{ end }}":                                                           at + "3:4+8 " + value,
		"{{ include \"meta\" . | nindent 0 }}":                                                                             "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n{{ toYaml .spec }}":                                         "",
		"apiVersion: v1\nkind: 5\nmetadata: {name: a}":                                                                     fails + "2:7+1 kind must be plain text in the template",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {a: b}\n":                                                     fails + "4:9+1 metadata.name is not a string: write a name",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 17}\n":                                                          fails + "3:18+2 metadata.name is not a string: quote it",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: [a]\n":                                                                 fails + "3:11+1 metadata is a list: write a mapping with a name",
		"{{ if .spec.paused }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: 17}\n{{ end }}":                          at + "4:18+2 metadata.name is not a string: quote it",
		"apiVersion: v1\nkind: {{ if .spec.paused }}ConfigMap{{ else }}Secret{{ end }}\nmetadata: {name: a}":               "",
		"{{ if .spec.paused }}\nkind: ConfigMap\n{{ else }}\nkind: Secret\n{{ end }}\napiVersion: v1\nmetadata: {name: a}": "",
		whole + "status: {}":                                           at + "5:1+6 a template must not set status: remove it",
		whole + "  uid: a":                                             at + "5:3+3 metadata.uid must not be set: the API server sets it: remove it",
		whole + "  creationTimestamp: null":                            "", // as programs print it
		whole + "  resourceVersion: null":                              "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}": at + "3:12+12 metadata.generateName must not be set: templater must know the name of each child in advance: set metadata.name",
	} {
		var got []string
		for _, f := range checked(t, given{child: text, helpers: helpers}, nil) {
			if f.Code == finding.NoObject {
				got = append(got, show(f))
			}
		}
		if all := strings.Join(got, "\n"); all != want {
			t.Errorf("%q: got %q, want %q", text, all, want)
		}
	}
}

func TestServerDefaultsAreNotOptional(t *testing.T) {
	s := &v1.TemplateControllerSpec{
		Watch:    v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"},
		Children: []v1.Child{{Name: "x", Template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .spec.replicas }} {{ .spec.paused }} {{ .metadata.uid }}'}"}},
	}
	got := onlyOf(t, finding.Optional, s, openapi.BuiltIn())
	if len(got) != 1 || !strings.Contains(got[0], ".spec.paused is optional") {
		t.Errorf("found %q", got)
	}
}
