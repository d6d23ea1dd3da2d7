package outline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
)

// TestDuplicateObjects has the templates of two entries, a and b, and what is told of the second one.
func TestDuplicateObjects(t *testing.T) {
	const (
		head    = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n"
		named   = head + "  name: {{ .metadata.name }}\n"
		literal = head + "  name: settings\n"
		inFlow  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n"
		told    = "warning TL055 children[b]:4:9+20 children[a]:4 also renders this ConfigMap, so neither is applied: give each object its own name"
		ofText  = "warning TL055 children[b]:4:9+8 children[a]:4 also renders this ConfigMap, so neither is applied: give each object its own name"
	)
	for why, row := range map[string]struct{ a, b, want string }{
		"the same expression":               {named, named, told},
		"the same text":                     {literal, literal, ofText},
		"text in quotes":                    {literal, head + "  name: \"settings\"\n", strings.Replace(ofText, "+8", "+10", 1)},
		"an expression in quotes":           {named, head + "  name: \"{{ .metadata.name }}\"\n", strings.Replace(told, "+20", "+22", 1)},
		"text and an expression":            {head + "  name: {{ .metadata.name }}-a\n", head + "  name: {{ .metadata.name }}-a\n", strings.Replace(told, "+20", "+22", 1)},
		"in flow":                           {inFlow, literal, strings.Replace(ofText, "children[a]:4", "children[a]:1", 1)},
		"another version of the group":      {"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n", "apiVersion: apps/v1beta1\nkind: Deployment\nmetadata:\n  name: a\n", "warning TL055 children[b]:4:9+1 children[a]:4 also renders this Deployment, so neither is applied: give each object its own name"},
		"in the same namespace":             {literal + "  namespace: x\n", literal + "  namespace: x\n", ofText},
		"labels that an action prints":      {named + "  labels:\n    {{- include \"labels\" . | nindent 4 }}\n", named + "  labels:\n    {{ toYaml .metadata.labels | nindent 4 }}\n", told},
		"data that an action prints":        {named + "data:\n  {{- toYaml .metadata.labels | nindent 2 }}\n", named, told},
		"in the second document":            {literal, "apiVersion: v1\nkind: Secret\nmetadata: {name: settings}\n---\n" + literal, strings.Replace(ofText, "[b]:4", "[b]:8", 1)},
		"behind a branch":                   {literal, "{{ if .spec.paused }}\napiVersion: v1\nkind: Secret\nmetadata: {name: settings}\n{{ end }}\n---\n" + literal, strings.Replace(ofText, "[b]:4", "[b]:10", 1)},
		"twice in one template":             {"", literal + "---\n" + literal, "warning TL055 children[b]:9:9+8 children[b]:4 also renders this ConfigMap, so neither is applied: give each object its own name"},
		"another name":                      {named, head + "  name: {{ .metadata.name }}-b\n", ""},
		"another kind":                      {literal, strings.Replace(literal, "ConfigMap", "Secret", 1), ""},
		"another namespace":                 {literal, literal + "  namespace: x\n", ""},
		"a namespace in a branch":           {literal, literal + "  {{ if .spec.paused }}\n  namespace: x\n  {{ end }}\n", ""},
		"a namespace that an action prints": {literal, literal + "  {{ include \"labels\" . | nindent 2 }}\n", ""},
		"one that it may print":             {literal, literal + "  {{ include \"labels\" . }}\n", ""},
		"a merged namespace":                {literal, "x: &x {namespace: y}\n" + head + "  <<: *x\n  name: settings\n", ""},
		"a key that is printed":             {literal, literal + "  {{ .spec.key }}: x\n", ""},
		"a whole that is in a branch":       {literal, "{{ if .spec.paused }}\n" + literal + "{{ end }}\n", ""},
		"the first in a branch":             {"{{ if .spec.paused }}\n" + literal + "{{ end }}\n", literal, ""},
		"behind an else":                    {"{{ if .spec.paused }}\n" + literal + "{{ else }}\n" + literal + "{{ end }}\n", inFlow, ""},
		"a loop":                            {"{{ range .spec.hosts }}\n---\n" + literal + "{{ end }}\n", literal, ""},
		"a name in a branch":                {literal, head + "  name: {{ if .spec.paused }}other{{ else }}settings{{ end }}\n", ""},
		"the same branches in names":        {head + "  name: {{ if .spec.paused }}other{{ end }}\n", head + "  name: {{ if .spec.paused }}other{{ end }}\n", ""},
		"an action in a branch":             {named, head + "  name: {{ with .spec }}{{ .metadata.name }}{{ end }}\n", ""},
		"a kind in a branch":                {literal, "apiVersion: v1\n{{ if .spec.paused }}\nkind: Secret\n{{ else }}\nkind: ConfigMap\n{{ end }}\nmetadata:\n  name: settings\n", ""},
		"a document that a branch begins":   {"apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n{{ if .spec.paused }}\n---\n{{ end }}\n" + literal, literal, ""},
		"variables":                         {"{{ $x := \"a\" }}\n" + head + "  name: {{ $x }}\n", "{{ $x := \"b\" }}\n" + head + "  name: {{ $x }}\n", ""},
		"one of which waits":                {"{{ if .spec.paused }}{{ wait \"not yet\" }}{{ end }}\n" + literal, literal, ""},
		"one of which waits in a helper":    {"{{ include \"gate\" . }}\n" + literal, literal, ""},
		"a name that is generated":          {head + "  generateName: a-\n", head + "  generateName: a-\n", ""},
		"a name that an action prints":      {head + "  {{ include \"labels\" . }}\n", head + "  {{ include \"labels\" . }}\n", ""},
		"no name":                           {head + "  name: null\n  {{ include \"labels\" . }}\n", head + "  name: null\n  {{ include \"labels\" . }}\n", ""},
		"a name in a block":                 {head + "  name: >-\n    {{ .metadata.name }}\n", head + "  name: >-\n    {{ .metadata.name }}\n", ""},
	} {
		s := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.com/v1", Kind: "Shop"}, Helpers: `{{ define "labels" }}a: b{{ end }}`, Status: &v1.ParentStatus{Template: `x: {{ include "labels" . }}`}}
		if strings.Contains(row.a, "gate") {
			s.Helpers += `{{ define "gate" }}{{ if .spec.paused }}{{ wait "not yet" }}{{ end }}{{ end }}`
		}
		for name, text := range map[string]string{"a": row.a, "b": row.b} {
			if text != "" {
				s.Children = append(s.Children, v1.Child{Name: name, Template: text})
			}
		}
		slices.SortFunc(s.Children, func(a, b v1.Child) int { return strings.Compare(a.Name, b.Name) })
		for _, known := range []openapi.Set{nil, openapi.BuiltIn()} {
			if got := strings.Join(onlyOf(t, finding.SameObject, s, known), "\n"); got != row.want {
				t.Errorf("%s:\ngot  %s\nwant %s", why, got, row.want)
			}
		}
	}
}

// TestFinalizeChildrenMayReuseNames holds that finalize children can have the same names as children.
func TestFinalizeChildrenMayReuseNames(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	s := &v1.TemplateControllerSpec{
		Watch: v1.Watch{APIVersion: "example.com/v1", Kind: "Shop"}, Children: []v1.Child{{Name: "x", Template: text}},
		Finalize: &v1.Finalize{Children: []v1.Child{{Name: "y", Template: text}}},
	}
	if got := onlyOf(t, finding.SameObject, s, nil); got != nil {
		t.Errorf("%q", got)
	}
	s.Finalize.Children = append(s.Finalize.Children, v1.Child{Name: "z", Template: text})
	if got := onlyOf(t, finding.SameObject, s, nil); len(got) != 1 || !strings.Contains(got[0], "children[y]:3") {
		t.Errorf("two of finalize: %q", got)
	}
}

// TestStatusTemplateWithReadyCondition has conditions of a status template, with the type of the ready condition.
func TestStatusTemplateWithReadyCondition(t *testing.T) {
	const rest = " is written by templater, and a status that contains it is rejected: remove it, or set spec.status.readyCondition to another type, or to \"\" for none"
	other, none := "Available", ""
	for why, row := range map[string]struct {
		status string
		ready  *string
		want   string
	}{
		"Ready":                      {"conditions:\n- type: Ready\n  status: true\n", nil, "warning TL056 status:2:9+5 the Ready condition" + rest},
		"in a branch":                {"conditions:\n{{- if .spec.paused }}\n- {type: Ready, status: false}\n{{- end }}\n", nil, "warning TL056 status:3:10+5 the Ready condition" + rest},
		"another one":                {"conditions:\n- type: Paused\n  status: true\n", nil, ""},
		"another ready condition":    {"conditions:\n- type: Ready\n  status: true\n- {type: Available, status: true}\n", &other, "warning TL056 status:4:10+9 the Available condition" + rest},
		"no ready condition":         {"conditions:\n- type: Ready\n  status: true\n", &none, ""},
		"one that is printed":        {"conditions:\n- type: {{ .spec.type }}\n  status: true\n", nil, ""},
		"conditions of another kind": {"conditions: {type: Ready}\n", nil, ""},
		"at another place":           {"other:\n- type: Ready\n", nil, ""},
	} {
		s := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.com/v1", Kind: "Shop"}, Status: &v1.ParentStatus{Template: row.status, ReadyCondition: row.ready}}
		for _, known := range []openapi.Set{nil, openapi.BuiltIn()} {
			if got := strings.Join(onlyOf(t, finding.OwnCondition, s, known), "\n"); got != row.want {
				t.Errorf("%s:\ngot  %s\nwant %s", why, got, row.want)
			}
		}
	}
}

// TestDuplicateObjectWarningsAreTrue puts templates together at random. Where an object is said to be yielded twice it is, for each parent for
// which templates render.
func TestDuplicateObjectWarningsAreTrue(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 17))
	pick := func(all ...string) string { return all[random.IntN(len(all))] }
	object := func() string {
		text := "apiVersion: v1\n" + pick("kind: ConfigMap\n", "kind: ConfigMap\n", "kind: Secret\n", "{{ if .spec.paused }}\nkind: Secret\n{{ else }}\nkind: ConfigMap\n{{ end }}\n") + "metadata:\n"
		text += "  name: " + pick("a", "\"a\"", "{{ .metadata.name }}", "{{ .metadata.name }}-a", "{{ if .spec.paused }}a{{ else }}b{{ end }}", "{{ with .spec }}{{ .mode }}{{ end }}", "{{ $x }}", "{{ include \"name\" . }}") + "\n"
		text += pick("", "", "  namespace: x\n", "  {{ if .spec.paused }}\n  namespace: x\n  {{ end }}\n", "  {{ include \"place\" . }}\n", "  labels:\n    {{ include \"place\" . | nindent 4 }}\n", "  {{ include \"place\" . | nindent 2 }}\n", "  {{- if .spec.paused }}\n  {{ include \"place\" . | nindent 2 }}\n  {{- end }}\n")
		text += pick("", "data: {a: b}\n", "{{ include \"data\" . }}\n", "data:\n  {{- include \"place\" . | nindent 2 }}\n")
		return text
	}
	around := func() string {
		return pick("%s", "%s", "%s", "{{ if .spec.paused }}\n%s{{ end }}\n", "{{ range .spec.hosts }}\n---\n{{ with $ }}%s{{ end }}{{ end }}\n", "{{ if .spec.paused }}{{ wait \"x\" }}{{ end }}\n%s", "{{ with $ }}\n%s\n{{ end }}")
	}
	template := func(usual string) string {
		text := "{{ $x := " + pick(`"a"`, `"b"`) + " }}\n"
		for i := range 1 + random.IntN(2) {
			if i > 0 {
				text += pick("---\n", "{{ if .spec.paused }}\n---\n{{ end }}\n")
			}
			text += strings.Replace(around(), "%s", pick(usual, usual, object()), 1)
		}
		return text
	}
	parents := []map[string]any{}
	for _, paused := range []bool{false, true} {
		for _, hosts := range [][]any{nil, {"a"}} {
			parents = append(parents, map[string]any{"metadata": map[string]any{"name": "n", "namespace": "x"}, "spec": map[string]any{"paused": paused, "mode": "m", "hosts": hosts}})
		}
	}
	told := 0
	for range 2000 {
		usual := object()
		s := &v1.TemplateControllerSpec{
			Watch:    v1.Watch{APIVersion: "example.com/v1", Kind: "Shop"},
			Helpers:  `{{ define "place" }}namespace: y{{ end }}{{ define "data" }}data: {c: d}{{ end }}{{ define "name" }}a{{ end }}`,
			Children: []v1.Child{{Name: "a", Template: template(usual)}, {Name: "b", Template: template(usual)}},
		}
		result := lint.Check(&v1.TemplateController{Spec: *s}, nil)
		if !slices.ContainsFunc(result.Findings, func(f finding.Finding) bool { return f.Code == finding.SameObject }) || result.Rejection != nil {
			continue
		}
		told++
		for _, parent := range parents {
			seen, twice, failed := map[string]bool{}, false, false
			for _, child := range s.Children {
				objects, err := result.Compiled.Program.Child(child.Name, &render.Input{Parent: parent})
				failed = failed || err != nil
				for _, o := range objects {
					metadata, _ := o.Content["metadata"].(map[string]any)
					id := fmt.Sprint(o.Content["kind"], metadata["namespace"], metadata["name"])
					twice = twice || seen[id]
					seen[id] = true
				}
			}
			if !failed && !twice {
				t.Errorf("nothing is there twice in\n%s\nand\n%s\nfor %v: %v", s.Children[0].Template, s.Children[1].Template, parent, seen)
			}
		}
	}
	if told < 20 {
		t.Errorf("only %d are reported", told)
	}
}
