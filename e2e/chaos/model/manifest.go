package model

import (
	"fmt"
	"strings"
)

// The label of parents that a selective TemplateController asks for, and that of
// namespaces which are open.
const (
	ParentLabel    = "chaos"
	NamespaceLabel = "chaos-open"
)

// ReadyCondition is the type of the condition that a TemplateController writes. Two that
// share their parents have one each.
func ReadyCondition(shape string) string {
	if shape == Scoped {
		return "Scoped"
	}
	return "Ready"
}

const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: @shape-{{ .metadata.name }}
data:
  text: {{ .spec.text }}
  value: {{ .values.value }}
  edition: "@edition"
`

const configMaps = `{{ range $i := until (int .spec.count) }}
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

const secret = `apiVersion: v1
kind: Secret
metadata:
  name: many-{{ .metadata.name }}
stringData:
  token: "{{ .spec.text }}{{ .values.value }}"
`

const status = `text: {{ .spec.text }}
total: {{ len .children.config }}
names: {{ collect "metadata.name" .children.config | toJson }}
`

// Manifest returns the TemplateController as an object.
func (c Controller) Manifest(shape string) map[string]any {
	spec := map[string]any{
		"watch":          c.watch(shape),
		"suspend":        c.Suspended,
		"resyncPeriod":   "0s", // nothing is to be found by chance
		"deletionPolicy": "Orphan",
		"values":         map[string]any{"value": c.Value},
		"children":       c.entries(shape),
		"status":         map[string]any{"readyCondition": ReadyCondition(shape)},
	}
	if shape == Report {
		spec["status"] = map[string]any{"readyCondition": "Ready", "template": status}
	}
	return map[string]any{
		"apiVersion": "templater.dev/v1", "kind": "TemplateController",
		"metadata": map[string]any{"name": shape}, "spec": spec,
	}
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

func (c Controller) entries(shape string) []any {
	template, immutable := configMap, ""
	if shape == Many || shape == Again {
		template = configMaps
	}
	if shape == Again {
		immutable = "immutable: true"
	}
	prune := "Delete"
	if c.Retain {
		prune = "Retain"
	}
	entries := []any{map[string]any{
		"name":     "config",
		"template": strings.NewReplacer("@shape", shape, "@edition", fmt.Sprint(c.Edition), "@immutable", immutable).Replace(template),
		"updateStrategy": map[string]any{
			"type": c.Strategy,
		},
		"prunePolicy": prune,
	}}
	if shape == Many {
		entries = append(entries, map[string]any{"name": "secret", "template": secret})
	}
	return entries
}

// Manifest returns the parent as an object.
func (p Parent) Manifest(id ParentID) map[string]any {
	metadata := map[string]any{"name": id.Name, "namespace": id.Namespace}
	if p.Labelled {
		metadata["labels"] = map[string]any{ParentLabel: "yes"}
	}
	return map[string]any{
		"apiVersion": Group + "/v1", "kind": id.Kind, "metadata": metadata,
		"spec": map[string]any{"text": p.Text, "count": int64(p.Count)},
	}
}

// Plural is the name of a kind's resource.
func Plural(kind string) string { return strings.ToLower(kind) + "s" }

// Definition returns the CustomResourceDefinition of a kind of parents.
func Definition(kind string) map[string]any {
	text := map[string]any{"type": "string"}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	conditions := map[string]any{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
		"items": map[string]any{"type": "object", "required": []any{"type"}, "properties": map[string]any{
			"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text,
			"observedGeneration": map[string]any{"type": "integer"},
		}},
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": Plural(kind) + "." + Group},
		"spec": map[string]any{
			"group": Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": Plural(kind), "singular": strings.ToLower(kind), "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": object(map[string]any{
					"spec": object(map[string]any{"text": text, "count": map[string]any{"type": "integer"}}),
					"status": object(map[string]any{
						"text": text, "total": map[string]any{"type": "integer"},
						"names": map[string]any{"type": "array", "items": text}, "conditions": conditions,
					}),
				})},
			}},
		},
	}
}
