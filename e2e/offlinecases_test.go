package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
)

// randomController generates TemplateControllers with features on which the offline commands and the operator must
// agree.
type randomController struct {
	*rand.Rand
	related bool     // whether there is spec.related
	things  []string // child templates so far that render one Thing, always of the same name
	maps    []string // child templates so far that render one ConfigMap, always of the same name
}

// spec returns the spec of a TemplateController without spec.watch. Its children are ConfigMaps, and Things of the
// group.
func (r *randomController) spec(group string) v1.TemplateControllerSpec {
	var out v1.TemplateControllerSpec
	out.ResyncPeriod = "0s"
	out.Values = &apiextensionsv1.JSON{Raw: []byte(`{"color": "` + pick(r, "pink", "gold") + `"}`)}
	out.Helpers = `{{ define "color" }}{{ .values.color }}-{{ .spec.x }}{{ end }}`
	if r.related = r.chance(3); r.related {
		out.Related = []v1.Related{{Name: "maps", APIVersion: "v1", Kind: "ConfigMap", Select: `{labelSelector: {matchLabels: {related-to: {{ .metadata.name }}}}}`}}
		out.Related[0].LabelSelector = selector("related-to")
	}
	for i := range 1 + r.IntN(4) {
		out.Children = append(out.Children, r.child(string(rune('a'+i)), group, out.Children))
	}
	if r.chance(2) {
		out.Finalize = &v1.Finalize{Order: v1.FinalizeReverse}
		if r.chance(2) {
			out.Finalize.Children = []v1.Child{r.child("backup", group, nil)}
			out.Finalize.Order = pick(r, v1.FinalizeNone, v1.FinalizeReverse)
		}
	}
	if r.chance(2) {
		out.Status = &v1.ParentStatus{Template: r.status(out.Children)}
	}
	return out
}

// chance is true with probability 1/n.
func (r *randomController) chance(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *randomController, from ...T) T { return from[r.IntN(len(from))] }

// child generates a child template. Its objects depend on the parent, on related objects, and on earlier child
// templates.
func (r *randomController) child(name, group string, before []v1.Child) v1.Child {
	out := v1.Child{Name: name}
	for _, b := range before {
		if r.chance(4) {
			out.DependsOn = append(out.DependsOn, b.Name)
		}
	}
	out.PrunePolicy = pick(r, "", v1.PruneDelete, v1.PruneOrphan)
	out.DeletionPolicy = pick(r, "", "", v1.DeletionDelete, v1.DeletionOrphan)
	out.UpdateStrategy.Type = pick(r, "", v1.UpdateApply, v1.UpdateApply, v1.UpdateRecreate, v1.UpdateCreateOnly, v1.UpdateOnDelete)
	if t := out.UpdateStrategy.Type; (t == v1.UpdateApply || t == v1.UpdateRecreate) && r.chance(2) {
		most := pick(r, intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("50%"))
		out.UpdateStrategy.RollingUpdate = &v1.RollingUpdate{MaxUnavailable: &most}
	}
	if r.chance(5) {
		out.Scope = v1.ScopeCluster
	}
	head, content := "apiVersion: v1\nkind: ConfigMap", "data"
	thing := r.chance(2)
	if thing {
		head, content = "apiVersion: "+group+"/v1\nkind: Thing", "spec"
		if r.chance(2) {
			out.ReadyWhen = `eq .object.status.phase "Up"`
		}
	}
	object := "{{ $.metadata.name }}-" + name
	begin, end := "", ""
	switch r.IntN(5) {
	case 0:
		begin, end = "{{- range $i := until (int .spec.n) }}\n---", "{{- end }}"
		object += "-{{ $i }}"
	case 1:
		begin, end = "{{- if .spec.on }}", "{{- end }}"
	case 2:
		object += "-{{ $.spec.suffix }}"
	}
	fields := []string{"x: {{ $.spec.x | quote }}"}
	for _, field := range r.fields() {
		if r.chance(3) {
			fields = append(fields, field)
		}
	}
	lines := append([]string{begin, head, "metadata: {name: " + object + ", namespace: {{ $.metadata.namespace }}}", content + ":"}, indent(strings.Join(fields, "\n")), end)
	out.Template = strings.TrimLeft(strings.Join(lines, "\n"), "\n") + "\n"
	switch {
	case begin != "" || strings.Contains(object, "suffix"):
	case thing:
		r.things = append(r.things, name)
	case name != "backup":
		r.maps = append(r.maps, name)
	}
	return out
}

// fields generates additional fields of an object.
func (r *randomController) fields() []string {
	out := []string{"n: {{ $.spec.n | quote }}", "on: {{ $.spec.on | quote }}", `color: {{ include "color" $ | quote }}`}
	if r.related {
		out = append(out, "count: {{ len $.related.maps | quote }}", "value: {{ (first $.related.maps).data.value | quote }}", `values: {{ $.related.maps | collect "data.value" | toJson | quote }}`)
	}
	for _, name := range r.things {
		out = append(out, "of: {{ (first $.children."+name+").metadata.name | quote }}", "phase: {{ (first $.children."+name+").status.phase | quote }}")
	}
	return out[:min(len(out), 7)]
}

// status generates a status template.
func (r *randomController) status(children []v1.Child) string {
	out := "x: {{ .spec.x }}\n"
	for _, c := range children {
		switch r.IntN(3) {
		case 0:
			out += fmt.Sprintf("%s: {{ len .children.%[1]s }}\n", c.Name)
		case 1:
			out += fmt.Sprintf("%s: {{ .children.%[1]s | collect \"metadata.name\" | toJson }}\n", c.Name)
		}
	}
	if r.chance(3) {
		out += "conditions:\n- {type: Green, status: {{ eq .spec.x \"green\" }}}\n"
	}
	return out
}

// parentSpec generates the spec of a parent.
func (r *randomController) parentSpec() map[string]any {
	return map[string]any{"x": pick(r, "red", "green", "blue"), "n": int64(r.IntN(4)), "on": r.chance(2), "suffix": pick(r, "p", "q")}
}
