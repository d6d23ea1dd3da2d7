package typed

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/schema"
	"github.com/templater-dev/templater/internal/spec"
)

// onlyOf returns the findings of a code in a spec, as text.
func onlyOf(t *testing.T, code finding.Code, s *v1.TemplateControllerSpec, known schema.Set) []string {
	t.Helper()
	compiled, rejection := spec.Compile("x", s)
	if rejection != nil {
		t.Fatalf("%+v: %s", s, rejection.Message)
	}
	var all []string
	for _, f := range Check(s, compiled.Program, known) {
		if f.Code == code {
			all = append(all, show(f))
		}
	}
	return all
}

func TestWhereChildrenCanBe(t *testing.T) {
	const (
		home     = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
		settings = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
		crossing = "warning TL048 children[x]:2:7+9 a Namespace is cluster-scoped and cannot belong to the namespaced Deployment: set scope: Cluster in this entry, or watch a cluster-scoped kind"
		homeless = "warning TL048 children[x]:2:7+9 a ConfigMap is namespaced and its parent is not: set metadata.namespace"
	)
	deployment, node := v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, v1.Watch{APIVersion: "v1", Kind: "Node"}
	for why, row := range map[string]struct {
		watch v1.Watch
		child v1.Child
		want  string
	}{
		"a cluster-scoped child of a namespaced parent": {deployment, v1.Child{Template: home}, crossing},
		"with scope: Cluster":                           {deployment, v1.Child{Template: home, Scope: v1.ScopeCluster}, ""},
		"a namespaced one of a namespaced one":          {deployment, v1.Child{Template: settings}, ""},
		"a cluster-scoped one of a cluster-scoped one":  {node, v1.Child{Template: home}, ""},
		"a namespaced one of a cluster-scoped one":      {node, v1.Child{Template: settings}, homeless},
		"with a namespace":                              {node, v1.Child{Template: settings + "  namespace: default\n"}, ""},
		"with one in a branch":                          {node, v1.Child{Template: settings + "  {{ if .spec.unschedulable }}\n  namespace: default\n  {{ end }}\n"}, ""},
		"with what an action prints":                    {node, v1.Child{Template: settings + "  {{ include \"home\" . }}\n"}, ""},
		"with metadata that an action prints":           {node, v1.Child{Template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {{ .metadata.labels | toJson }}\n"}, ""},
		"of a kind that is not known":                   {v1.Watch{APIVersion: "example.com/v1", Kind: "Shop"}, v1.Child{Template: home}, ""},
	} {
		row.child.Name = "x"
		s := &v1.TemplateControllerSpec{Watch: row.watch, Children: []v1.Child{row.child}, Helpers: `{{ define "home" }}namespace: default{{ end }}`}
		if got := strings.Join(onlyOf(t, finding.ChildPlace, s, schema.BuiltIn()), "\n"); got != row.want {
			t.Errorf("%s: got %q, want %q", why, got, row.want)
		}
		if got := onlyOf(t, finding.ChildPlace, s, nil); got != nil {
			t.Errorf("%s: without schemas: %q", why, got)
		}
	}
	last := &v1.TemplateControllerSpec{Watch: deployment, Finalize: &v1.Finalize{Children: []v1.Child{{Name: "x", Template: home}}}}
	if got := onlyOf(t, finding.ChildPlace, last, schema.BuiltIn()); !slices.Equal(got, []string{crossing}) {
		t.Errorf("a child of finalize: %q", got)
	}
	last.Finalize.Children[0].Scope = v1.ScopeCluster
	if got := onlyOf(t, finding.ChildPlace, last, schema.BuiltIn()); got != nil {
		t.Errorf("a child of finalize with scope: Cluster: %q", got)
	}
}

func TestWhatSelectsYield(t *testing.T) {
	deployment, node := v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, v1.Watch{APIVersion: "v1", Kind: "Node"}
	const at = "warning TL049 related[x].select:"
	for why, row := range map[string]struct {
		watch v1.Watch
		kind  string
		in    []string
		text  string
		want  []string
	}{
		"all keys":                          {deployment, "Pod", nil, "name: a\nnamespace: b\nlabelSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: Exists}]}", nil},
		"matchLabels at the top":            {deployment, "Pod", nil, "matchLabels:\n  a: b", []string{at + "1:1+11 a select has no key matchLabels: put it below labelSelector"}},
		"in a list":                         {deployment, "Pod", nil, "- name: a\n- matchExpressions: []", []string{at + "2:3+16 a select has no key matchExpressions: put it below labelSelector"}},
		"misspelled":                        {deployment, "Pod", nil, "labelselector: {}\nfield: a", []string{at + "1:1+13 a select has no key labelselector; did you mean labelSelector? -> labelSelector", at + "2:1+5 a select has no key field; write name, namespace, allNamespaces, labelSelector"}},
		"labels in labelSelector":           {deployment, "Pod", nil, "labelSelector:\n  app: {{ .metadata.name }}\n  matchLabel: {}", []string{at + "2:3+3 labelSelector has no key app; put labels below matchLabels", at + "3:3+10 labelSelector has no key matchLabel; did you mean matchLabels? -> matchLabels"}},
		"what is printed":                   {deployment, "Pod", nil, "{{ .metadata.name }}: a\nlabelSelector: {{ toJson .spec.selector }}\nnamespace: {{ .metadata.name }}", nil},
		"a namespace that is not watched":   {deployment, "Pod", []string{"a", "b"}, "namespace: c", []string{at + "1:12+1 namespaces of this entry lacks c, so nothing there is watched: add it, or leave namespaces out"}},
		"one that is":                       {deployment, "Pod", []string{"a", "b"}, "namespace: b", nil},
		"a namespace for a kind without":    {deployment, "Node", nil, "namespace: c", []string{at + "1:1+9 Node is cluster-scoped: leave out namespace"}},
		"a parent without a namespace":      {node, "Pod", nil, "name: a", []string{at + "1:1+4 Node has no namespace: give namespace, or allNamespaces: true"}},
		"which says one":                    {node, "Pod", nil, "name: a\nnamespace: b", nil},
		"which wants all":                   {node, "Pod", nil, "allNamespaces: true", nil},
		"which may say one":                 {node, "Pod", nil, "name: a\n{{ with .spec.podCIDR }}\nnamespace: b\n{{ end }}", nil},
		"which says one by an action":       {node, "Pod", nil, "name: a\n{{ include \"home\" . }}", nil},
		"cluster-scoped among their kind":   {node, "Node", nil, "name: a", nil},
		"nothing":                           {deployment, "Pod", nil, "{{/* nothing */}}", nil},
		"a text, which rendering refuses":   {deployment, "Pod", nil, "a", nil},
		"a list of texts, refused likewise": {deployment, "Pod", nil, "- a", nil},
	} {
		s := &v1.TemplateControllerSpec{
			Watch: row.watch, Helpers: `{{ define "home" }}namespace: default{{ end }}`,
			Related:  []v1.Related{{Name: "w", APIVersion: "v1", Kind: "Pod"}, {Name: "x", APIVersion: "v1", Kind: row.kind, Select: row.text, Namespaces: row.in}},
			Children: []v1.Child{{Name: "x", Template: "apiVersion: v1\nkind: ConfigMap"}},
		}
		if got := onlyOf(t, finding.SelectKey, s, schema.BuiltIn()); !slices.Equal(got, row.want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", why, strings.Join(got, "\n  "), strings.Join(row.want, "\n  "))
		}
	}
}

func TestReadyWhenLooksAtItsObject(t *testing.T) {
	const same = "does not look at .object, so that it says the same of all objects of this entry"
	for text, want := range map[string]string{
		`eq .object.status.phase "Bound"`:                 "",
		`eq .status.phase "Bound"`:                        "warning TL051 children[pod].readyWhen:1:4+13 .status.phase is of the parent, and readyWhen " + same + "; did you mean .object.status.phase? -> .object.status.phase",
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

func TestTextThatMeansDifferentThings(t *testing.T) {
	const child = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
	for text, want := range map[string]string{
		"  a: yes":                  "warning TL052 children[pod]:5:6+3 unquoted yes is a boolean to some versions of YAML; write true or false, or put it in quotes",
		"  a: [x, 0400]":            "warning TL052 children[pod]:5:10+4 unquoted 0400 means different things to versions of YAML; put it in quotes, or write a decimal number",
		"  a: \"yes\"\n  b: 'on'":   "",
		"  a: |\n    yes":           "",
		"  a: yes{{ .spec.image }}": "",
		"  yes: a\n  on: b":         "", // keys are what they say
	} {
		var got []string
		for _, f := range checked(t, given{child: child + text}, nil) {
			if f.Code == finding.PlainText {
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

func TestDocumentsThatAreNoObjects(t *testing.T) {
	const (
		whole = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
		at    = "warning TL053 children[pod]:"
		needs = ": every child needs apiVersion, kind and metadata.name"
	)
	for text, want := range map[string]string{
		whole:                                  "",
		"kind: ConfigMap\nmetadata: {name: a}": at + "1:1+4 the document has no apiVersion" + needs,
		"apiVersion: v1\nmetadata: {name: a}":  at + "1:1+10 the document has no kind" + needs,
		"apiVersion: v1\nkind: ConfigMap":      at + "1:1+10 the document has no metadata.name" + needs,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b}}":                                                      at + "1:1+10 the document has no metadata.name" + needs,
		"apiVersion: v1\nkind: ConfigMap\n{{ include \"meta\" . }}":                                                        "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  {{- include \"meta\" . | nindent 2 }}":                              "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {{ toJson .metadata }}":                                                "",
		"apiVersion: v1\nkind: {{ .spec.mode }}\nmetadata: {name: a}":                                                      at + "2:7+16 kind must stand in the template as it is, so that rights are known beforehand; use if to choose between several",
		"apiVersion: v1\nkind: {{ if .spec.paused }}ConfigMap{{ else }}Secret{{ end }}\nmetadata: {name: a}":               "",
		"{{ if .spec.paused }}\nkind: ConfigMap\n{{ else }}\nkind: Secret\n{{ end }}\napiVersion: v1\nmetadata: {name: a}": "",
		whole + "status: {}":                                           at + "5:1+6 status is not for a template to set: remove it",
		whole + "  uid: a":                                             at + "5:3+3 metadata.uid may not be set: the API server sets it: remove it",
		whole + "  creationTimestamp: null":                            "", // as programs print it
		whole + "  resourceVersion: null":                              "",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}": at + "3:12+12 metadata.generateName may not be set: templater must know the name of each child beforehand: set metadata.name",
	} {
		var got []string
		for _, f := range checked(t, given{child: text, helpers: `{{ define "meta" }}metadata: {name: a}{{ end }}`}, nil) {
			if f.Code == finding.NoObject {
				got = append(got, show(f))
			}
		}
		if all := strings.Join(got, "\n"); all != want {
			t.Errorf("%q: got %q, want %q", text, all, want)
		}
	}
}

func TestWhatTheServerSetsIsThere(t *testing.T) {
	s := &v1.TemplateControllerSpec{
		Watch:    v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"},
		Children: []v1.Child{{Name: "x", Template: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: '{{ .spec.replicas }} {{ .spec.paused }} {{ .metadata.uid }}'}"}},
	}
	got := onlyOf(t, finding.Optional, s, schema.BuiltIn())
	if len(got) != 1 || !strings.Contains(got[0], ".spec.paused is optional") {
		t.Errorf("found %q", got)
	}
}
