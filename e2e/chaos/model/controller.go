package model

import (
	"fmt"
	"slices"
	"strings"
)

// Each ConfigMap template is a prefix of the template with one more ConfigMap.
const (
	configMap = `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: @shape-{{ .metadata.name }}@suffix
  {{- if eq .spec.bad "label" }}
  labels: {bad: {{ .spec.text }}}
  {{- end }}
{{- if eq .spec.bad "type" }}
immutable: {{ .spec.text }}
{{- else if eq .spec.bad "field" }}
{{ .spec.text }}: x
{{- end }}
@immutable
data:
  text: {{ .spec.text }}
  value: {{ .values.value }}
  edition: "@edition"
`
	configMaps = `{{ range $i := until (int .spec.count) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: @shape-{{ $.metadata.name }}-{{ $i }}
@immutable
data:
  text: {{ $.spec.text }}
  value: {{ $.values.value }}
  edition: "@edition"
  index: "{{ $i }}"
{{ end }}
`
	secret = `apiVersion: v1
kind: Secret
metadata:
  name: many-{{ .metadata.name }}
stringData:
  token: "{{ .spec.text }}{{ .values.value }}"
`
	part = `apiVersion: ` + Group + `/v1
kind: Part
metadata:
  name: whole-{{ .metadata.name }}
data:
  text: {{ .spec.text }}
  edition: "@edition"
`
	atEnd = `{{ if and (eq .status.phase "end") (eq (int (.status.round | default -1)) (int .spec.count)) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: engine-{{ .metadata.name }}
data:
  text: {{ .spec.text }}
  value: {{ .values.value }}
  edition: "@edition"
  round: "{{ .status.round }}"
{{ end }}
`
	steps = `{{ $at := "start" -}}
{{ if eq (int (.status.round | default -1)) (int .spec.count) }}{{ $at = .status.phase | default "start" }}{{ end -}}
phase: {{ if eq $at "end" }}end{{ else }}{{ index .spec.steps $at | default "end" }}{{ end }}
round: {{ .spec.count }}
`
	kept = `apiVersion: v1
kind: ConfigMap
metadata:
  name: report-{{ .metadata.name }}-kept-{{ trunc 8 .metadata.uid }}
data:
  text: {{ .spec.text }}
`
	status = `text: {{ .spec.text }}
total: {{ len .children.@entry }}
names: {{ collect "metadata.name" .children.@entry | toJson }}
`
	broken = `{{ if .spec.text }}`
)

// Manifest returns the TemplateController as an object.
func (c Controller) Manifest(shape string) map[string]any {
	spec := map[string]any{
		"watch":        c.watch(shape),
		"suspend":      c.Suspended,
		"resyncPeriod": "0s", // periodic resyncs must not hide missed events
		"whenDeleted":  choice(c.Purge, "DeleteChildren", "OrphanChildren"),
		"values":       map[string]any{"value": c.Value},
		"children":     c.entries(shape),
		"status":       map[string]any{"readyCondition": ReadyCondition(shape)},
	}
	switch shape {
	case Report:
		spec["status"] = map[string]any{"readyCondition": "Ready", "template": strings.ReplaceAll(status, "@entry", c.Entry)}
	case Engine:
		spec["status"] = map[string]any{"readyCondition": "Ready", "template": steps}
	case Reader:
		spec["status"] = map[string]any{"readyCondition": "Ready", "template": told}
		spec["related"] = related()
	case Chain:
		if c.Finalizing(shape) {
			spec["finalize"] = c.finalize()
		}
	default:
	}
	return map[string]any{
		"apiVersion": "templater.dev/v1", "kind": "TemplateController",
		"metadata": map[string]any{"name": shape}, "spec": spec,
	}
}

func choice(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

func (c Controller) watch(shape string) map[string]any {
	watch := map[string]any{"apiVersion": Group + "/v1", "kind": KindOf(shape)}
	if c.Selective {
		watch["labelSelector"] = map[string]any{"matchLabels": map[string]any{ParentLabel: "yes"}}
	}
	if shape == Scoped {
		watch["namespaceSelector"] = map[string]any{"matchLabels": map[string]any{NamespaceLabel: "yes"}}
	}
	return watch
}

// entries is spec.children.
func (c Controller) entries(shape string) []any {
	template, one := configMap, configMap
	switch shape {
	case Many, Again:
		template = configMaps
	case Engine:
		template = atEnd
	case Reader:
		template, one = template+readMore, one+readMore
	default:
	}
	if c.Extra == SameSide {
		template += strings.ReplaceAll(one, "@suffix", "-extra")
	}
	if c.Broken {
		template = broken + template
	}
	entries := []any{c.entry(shape, c.Entry, template)}
	switch c.Extra {
	case OwnExtra:
		entries = append(entries, c.entry(shape, "extra", strings.ReplaceAll(one, "@suffix", "-extra")))
	case Double:
		entries = append(entries, c.entry(shape, "extra", template))
	default:
	}
	switch shape {
	case Many:
		entries = append(entries, map[string]any{"name": "secret", "template": secret})
	case Report:
		entry := c.entry(shape, "kept", kept)
		entry["deletionPolicy"] = choice(c.Keep, "Orphan", "Delete")
		entries = append(entries, entry)
	case Whole:
		entry := c.entry(shape, "part", part)
		entry["prunePolicy"] = "Delete"
		entries = append(entries, entry)
	case Chain:
		entries = c.chain(entries)
	case Wide:
		entries = append(entries, c.far())
	default:
	}
	if c.Swapped {
		slices.Reverse(entries)
	}
	return entries
}

// Rolling reports whether the objects of a child template are updated a few at a time.
func (c Controller) Rolling(shape string) bool { return c.Rolls && (shape == Many || shape == Again) }

func (c Controller) entry(shape, name, template string) map[string]any {
	fill := strings.NewReplacer("@shape", shape, "@suffix", "", "@edition", fmt.Sprint(c.Edition), "@immutable", choice(shape == Again, "immutable: true", ""))
	strategy := map[string]any{"type": c.Strategy}
	if c.Rolling(shape) {
		strategy["rollingUpdate"] = map[string]any{"maxUnavailable": choice(shape == Many, "50%", "1%")}
	}
	return map[string]any{
		"name": name, "template": fill.Replace(template),
		"updateStrategy": strategy,
		"prunePolicy":    choice(c.Unpruned, "Orphan", "Delete"),
	}
}

// Entries are the names of its child templates.
func (c Controller) Entries(shape string) []string {
	var names []string
	for _, entry := range c.entries(shape) {
		fields, _ := entry.(map[string]any)
		name, _ := fields["name"].(string)
		names = append(names, name)
	}
	return names
}
