// Package workload defines what both contenders create for each parent: as a TemplateController for the operator, and
// as plain Go code that builds the same objects for the floor.
package workload

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// Group is the API group of all parents.
	Group = "bench.templater.dev"
	// Namespace holds all parents and children.
	Namespace = "bench"
	// Item is the kind of the parents in most scenarios.
	Item = "Item"
	// Twin is the kind of the operator's parents where all contenders run at once.
	Twin = "Twin"
	// Peer is the kind of the cheapest floor's parents where all contenders run at once.
	Peer = "Peer"
	// Selector selects the children of all tasks.
	Selector = "templater.dev/controller"
)

// Red and Blue are the values of .spec.color before and after a change.
const (
	Red  = "red"
	Blue = "blue"
)

// text gives parents and children the size of small real ones.
var text = strings.Repeat("All work and no play makes a dull benchmark. ", 4)

// Kinds of children.
const (
	ConfigMap = "ConfigMap"
	Pod       = "Pod"
)

// Task defines what to create for each parent of a kind.
type Task struct {
	Name      string // of the TemplateController; determines the field manager
	Kind      string // of the parents
	ChildKind string // ConfigMap or Pod
	Children  int    // per parent
	// Condition is the type of the ready condition; empty means Ready.
	Condition string
	// NoStatus limits the status to the ready condition, because several tasks of one kind would fight over other
	// fields. The floor ignores it.
	NoStatus bool
	// Tint is a value from the TemplateController that is copied to every ConfigMap.
	Tint string
}

// ReadyCondition is the type of the ready condition.
func (t Task) ReadyCondition() string {
	if t.Condition == "" {
		return "Ready"
	}
	return t.Condition
}

// Parents is the resource of the parents.
func (t Task) Parents() schema.GroupVersionResource { return Resource(t.Kind) }

// ChildResource is the resource of the children.
func (t Task) ChildResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(t.ChildKind) + "s"}
}

// Selector selects the children of this task.
func (t Task) Selector() string { return Selector + "=" + t.Name }

// Resource is the resource of a parent kind.
func Resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// ParentName is the name of the i-th parent.
func ParentName(i int) string { return fmt.Sprintf("p-%06d", i) }

// Parent is a parent as it is created.
func Parent(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": Group + "/v1",
		"kind":       kind,
		"metadata":   map[string]any{"name": name, "namespace": Namespace},
		"spec":       map[string]any{"color": Red, "text": text},
	}}
}

// Definition is the CRD of a parent kind.
func Definition(kind string) *unstructured.Unstructured {
	lower := strings.ToLower(kind)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": lower + "s." + Group, "labels": map[string]any{"bench": "templater"}},
		"spec": map[string]any{
			"group": Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": lower + "s", "singular": lower},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema":       map[string]any{"openAPIV3Schema": openAPI()},
			}},
		},
	}}
}

func openAPI() map[string]any {
	text := map[string]any{"type": "string"}
	texts := map[string]any{"type": "array", "items": text}
	return object(map[string]any{
		"spec": object(map[string]any{"color": text, "text": text}),
		"status": object(map[string]any{
			"color": text, "children": texts, "phases": texts,
			"conditions": map[string]any{
				"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"type"},
				"items": object(map[string]any{
					"type": text, "status": text, "reason": text, "message": text,
					"observedGeneration": map[string]any{"type": "integer"},
					"lastTransitionTime": map[string]any{"type": "string", "format": "date-time"},
				}, "type", "status"),
			},
		}),
	})
}

func object(properties map[string]any, required ...any) map[string]any {
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
