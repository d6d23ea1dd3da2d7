package outline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// onlyOf returns the findings of a code in a spec, as text.
func onlyOf(t *testing.T, code finding.Code, s *v1.TemplateControllerSpec, known openapi.Set) []string {
	t.Helper()
	return onlyIn(t, code, &v1.TemplateController{Spec: *s}, known)
}

// onlyIn returns the findings of a code about a TemplateController.
func onlyIn(t *testing.T, code finding.Code, tc *v1.TemplateController, known openapi.Set) []string {
	t.Helper()
	result := lint.Check(tc, known)
	if result.Rejection != nil {
		t.Fatalf("%+v: %s", tc.Spec, result.Rejection.Message)
	}
	var all []string
	for _, f := range result.Findings {
		if f.Code != code {
			continue
		}
		text := fmt.Sprintf("%s %s %s:%d:%d+%d %s", f.Severity, f.Code, f.Where, f.Line, f.Column, f.Length, f.Message)
		if f.Replacement != "" {
			text += " -> " + f.Replacement
		}
		all = append(all, text)
	}
	return all
}

func TestChildScope(t *testing.T) {
	const (
		home     = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
		settings = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
		crossing = "warning TL048 children[x]:2:7+9 a Namespace is cluster-scoped and cannot be owned by the namespaced Deployment: set scope: Cluster in this child template, or watch a cluster-scoped kind"
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
		if got := strings.Join(onlyOf(t, finding.ChildPlace, s, openapi.BuiltIn()), "\n"); got != row.want {
			t.Errorf("%s: got %q, want %q", why, got, row.want)
		}
		if got := onlyOf(t, finding.ChildPlace, s, nil); got != nil {
			t.Errorf("%s: without schemas: %q", why, got)
		}
	}
	last := &v1.TemplateControllerSpec{Watch: deployment, Finalize: &v1.Finalize{Children: []v1.Child{{Name: "x", Template: home}}}}
	if got := onlyOf(t, finding.ChildPlace, last, openapi.BuiltIn()); !slices.Equal(got, []string{crossing}) {
		t.Errorf("a child of finalize: %q", got)
	}
	last.Finalize.Children[0].Scope = v1.ScopeCluster
	if got := onlyOf(t, finding.ChildPlace, last, openapi.BuiltIn()); got != nil {
		t.Errorf("a child of finalize with scope: Cluster: %q", got)
	}
}

// TestAdviceForNamespacedControllers has children and related objects that a NamespacedTemplateController cannot have.
func TestAdviceForNamespacedControllers(t *testing.T) {
	for why, row := range map[string]struct {
		code              finding.Code
		template, selects string
		want              string
	}{
		"a cluster-scoped child": {finding.ChildPlace, "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "",
			"warning TL048 children[x]:2:7+9 a Namespace is cluster-scoped and cannot be owned by the namespaced Deployment: ask an administrator for a TemplateController"},
		"related objects in another namespace": {finding.SelectKey, "", "namespace: far",
			"warning TL049 related[x].select:1:12+3 a NamespacedTemplateController reads related objects only in its own namespace: remove namespace, or ask an administrator for a TemplateController"},
		"related objects in its namespace": {finding.SelectKey, "", "namespace: team", ""},
	} {
		t.Run(why, func(t *testing.T) {
			tc := &v1.TemplateController{Spec: v1.TemplateControllerSpec{
				Watch: v1.Watch{APIVersion: "apps/v1", Kind: "Deployment"}, Children: []v1.Child{{Name: "x", Template: row.template}}, Related: []v1.Related{{Name: "x", APIVersion: "v1", Kind: "ConfigMap", Select: row.selects}},
			}}
			tc.Namespace, tc.Name = "team", "tc"
			spec.Confine(tc.Namespace, &tc.Spec)
			if got := strings.Join(onlyIn(t, row.code, tc, openapi.BuiltIn()), "\n"); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestSelectFields(t *testing.T) {
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
		"a namespace that is not watched":   {deployment, "Pod", []string{"a", "b"}, "namespace: c", []string{at + "1:12+1 namespace c is not listed in namespaces of this spec.related entry, so nothing is watched there: add it, or remove namespaces"}},
		"one that is":                       {deployment, "Pod", []string{"a", "b"}, "namespace: b", nil},
		"a namespace for a kind without":    {deployment, "Node", nil, "namespace: c", []string{at + "1:1+9 Node is cluster-scoped: remove namespace"}},
		"a parent without a namespace":      {node, "Pod", nil, "name: a", []string{at + "1:1+4 Node has no namespace: set namespace, or allNamespaces: true"}},
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
		if got := onlyOf(t, finding.SelectKey, s, openapi.BuiltIn()); !slices.Equal(got, row.want) {
			t.Errorf("%s: got\n  %s\nwant\n  %s", why, strings.Join(got, "\n  "), strings.Join(row.want, "\n  "))
		}
	}
}
