package scaffold

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
)

// Definition is a CustomResourceDefinition to write: for a namespaced kind, with conditions in its status.
type Definition struct {
	GVK         schema.GroupVersionKind
	Description string
	Spec        map[string]any // schema of .spec
	Status      map[string]any // schemas of the fields of .status, by name
}

// conditions is the schema of .status.conditions.
func conditions() map[string]any {
	text := func(most int64) map[string]any { return map[string]any{"type": "string", "maxLength": most} }
	return map[string]any{
		"description": "Ready is True when all children match the spec and are ready.",
		"type":        "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
		"items": map[string]any{
			"type": "object", "required": []any{"type", "status", "lastTransitionTime", "reason", "message"},
			"properties": map[string]any{
				"type": text(316), "reason": text(1024), "message": text(32768),
				"status":             map[string]any{"type": "string", "enum": []any{"True", "False", "Unknown"}},
				"observedGeneration": map[string]any{"type": "integer", "format": "int64", "minimum": int64(0)},
				"lastTransitionTime": map[string]any{"type": "string", "format": "date-time"},
			},
		},
	}
}

// Content returns the object.
func (d *Definition) Content() map[string]any {
	lower, plural := strings.ToLower(d.GVK.Kind), kind.Plural(d.GVK.Kind)
	status := map[string]any{"conditions": conditions()}
	for name, field := range d.Status {
		status[name] = field
	}
	root := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"spec":   d.Spec,
			"status": map[string]any{"description": "Written by templater.", "type": "object", "properties": status},
		},
	}
	if d.Description != "" {
		root["description"] = d.Description
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + d.GVK.Group},
		"spec": map[string]any{
			"group": d.GVK.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": d.GVK.Kind, "listKind": d.GVK.Kind + "List", "plural": plural, "singular": lower},
			"versions": []any{map[string]any{
				"name": d.GVK.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"additionalPrinterColumns": []any{
					map[string]any{"name": "Ready", "type": "string", "jsonPath": `.status.conditions[?(@.type=="Ready")].status`},
					map[string]any{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
				},
				"schema": map[string]any{"openAPIV3Schema": root},
			}},
		},
	}
}

// YAML returns the manifest.
func (d *Definition) YAML() string { return marshal(d.Content()) }

// Example returns an object of the kind.
func Example(gvk schema.GroupVersionKind, name string, spec map[string]any) string {
	text := "apiVersion: " + scalar(gvk.GroupVersion().String()) + "\nkind: " + scalar(gvk.Kind) + "\nmetadata:\n  name: " + scalar(name) + "\n"
	return text + "spec:" + inline(spec, 2)
}

// inline returns a map with its key.
func inline(m map[string]any, by int) string {
	if len(m) == 0 {
		return " {}\n"
	}
	return "\n" + indent(marshal(m), by)
}

// Kustomization returns a kustomization.yaml for files.
func Kustomization(files ...string) string {
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n# Without the example: its kind is only known once this has been applied.\nresources:\n"
	for _, file := range files {
		text += "- " + scalar(file) + "\n"
	}
	return text
}
