package model

import (
	"strings"
)

// Labels of parents for a selective TemplateController, and of open namespaces.
const (
	ParentLabel    = "chaos"
	NamespaceLabel = "chaos-open"
)

// NoteField is the field that another client can add to a parent's status, and ForeignCondition the type of that client's
// condition.
const (
	NoteField        = "note"
	ForeignCondition = "Foreign"
)

// ReadyCondition is the type of a TemplateController's ready condition. TemplateControllers that share parents have
// different ones.
func ReadyCondition(shape string) string {
	if shape == Scoped {
		return "Scoped"
	}
	return "Ready"
}

// Manifest returns the parent as an object.
func (p Parent) Manifest(id ParentID) map[string]any {
	metadata := map[string]any{"name": id.Name, "namespace": id.Namespace}
	if p.Labelled {
		metadata["labels"] = map[string]any{ParentLabel: "yes"}
	}
	spec := map[string]any{"text": p.Text, "count": int64(p.Count), "bad": string(p.Bad)}
	if p.Steps != nil {
		steps := map[string]any{}
		for from, to := range p.Steps {
			steps[from] = to
		}
		spec["steps"] = steps
	}
	return map[string]any{"apiVersion": Group + "/v1", "kind": id.Kind, "metadata": metadata, "spec": spec}
}

// Plural is the resource name of a kind.
func Plural(kind string) string { return strings.ToLower(kind) + "s" }

// Definition returns the CRD of a kind of parents, or of PartKind.
func Definition(kind string) map[string]any {
	schema := object(map[string]any{"data": mapping})
	if kind != PartKind {
		schema = parentSchema()
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": Plural(kind) + "." + Group},
		"spec": map[string]any{
			"group": Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": Plural(kind), "singular": strings.ToLower(kind), "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": schema},
			}},
		},
	}
}

var (
	text    = map[string]any{"type": "string"}
	integer = map[string]any{"type": "integer"}
	mapping = map[string]any{"type": "object", "additionalProperties": text}
)

func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties}
}

func parentSchema() map[string]any {
	conditions := map[string]any{
		"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
		"items": map[string]any{"type": "object", "required": []any{"type"}, "properties": map[string]any{
			"type": text, "status": text, "reason": text, "message": text, "lastTransitionTime": text, "observedGeneration": integer,
		}},
	}
	return object(map[string]any{
		"spec": object(map[string]any{"text": text, "count": integer, "bad": text, "steps": mapping}),
		"status": object(map[string]any{
			"text": text, "total": integer, "names": map[string]any{"type": "array", "items": text},
			"phase": text, "round": integer, NoteField: text, "conditions": conditions,
		}),
	})
}
