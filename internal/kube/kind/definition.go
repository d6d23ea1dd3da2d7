package kind

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Defined returns the group and kind of a CustomResourceDefinition, with the kind in status.acceptedNames, which can differ from
// spec.names after a change.
func Defined(definition *object.Object) schema.GroupKind {
	gk := schema.GroupKind{Group: definition.Text("spec", "group"), Kind: definition.Text("status", "acceptedNames", "kind")}
	if gk.Kind == "" {
		gk.Kind = definition.Text("spec", "names", "kind")
	}
	return gk
}

// customKind returns the kind of a CustomResourceDefinition. It returns false if the definition is not established, is being
// deleted, or does not serve that version.
func customKind(definition *object.Object, version string) (Kind, bool) {
	if definition.Deleting() {
		return Kind{}, false
	}
	return endingKind(definition, version)
}

// endingKind is customKind, but also for a definition that is being deleted.
func endingKind(definition *object.Object, version string) (Kind, bool) {
	content := definition.Content()
	if !established(content) {
		return Kind{}, false
	}
	kind, served := inDefinition(content, version)
	if !served {
		return Kind{}, false
	}
	kind.Kind = Defined(definition).Kind
	kind.Revision = string(definition.UID()) + "/" + strconv.FormatInt(definition.Generation(), 10)
	return kind, true
}

// inDefinition returns the kind in the spec of a CustomResourceDefinition. It returns false if the spec does not serve the
// version.
func inDefinition(content map[string]any, version string) (Kind, bool) {
	gk := declares(content)
	plural, _, _ := unstructured.NestedString(content, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(content, "spec", "scope")
	for _, v := range versions(content) {
		if v["name"] != version || v["served"] != true {
			continue
		}
		return Kind{
			Resource:   schema.GroupVersionResource{Group: gk.Group, Version: version, Resource: plural},
			Kind:       gk.Kind,
			Namespaced: scope == "Namespaced",
			Custom:     true,
			Status:     statusSchema(v),
		}, true
	}
	return Kind{}, false
}

// declares returns the group and kind in the spec of a CustomResourceDefinition.
func declares(content map[string]any) schema.GroupKind {
	group, _, _ := unstructured.NestedString(content, "spec", "group")
	kind, _, _ := unstructured.NestedString(content, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// versions returns the versions of a CustomResourceDefinition.
func versions(content map[string]any) []map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "versions")
	items, _ := list.([]any)
	var all []map[string]any
	for _, item := range items {
		if version, ok := item.(map[string]any); ok {
			all = append(all, version)
		}
	}
	return all
}

// Serves reports whether the spec of a CustomResourceDefinition serves a version.
func Serves(definition *object.Object, version string) bool {
	_, served := inDefinition(definition.Content(), version)
	return served
}

// servedVersion returns a version in which a CustomResourceDefinition currently serves its kind, preferably the storage version,
// or "" if there is none.
func servedVersion(definition *object.Object) string {
	content := definition.Content()
	if definition.Deleting() || !established(content) {
		return ""
	}
	return anyVersion(content)
}

// anyVersion returns a served version in the spec of a CustomResourceDefinition, preferably the storage version, or "".
func anyVersion(content map[string]any) string {
	found := ""
	for _, version := range versions(content) {
		if name, _ := version["name"].(string); version["served"] == true && (found == "" || version["storage"] == true) {
			found = name
		}
	}
	return found
}

func established(definition map[string]any) bool {
	conditions, _, _ := unstructured.NestedFieldNoCopy(definition, "status", "conditions")
	list, _ := conditions.([]any)
	for _, c := range list {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Established" {
			return condition["status"] == "True"
		}
	}
	return false
}

// rootSchema returns the schema of the objects of a version, or nil if there is none.
func rootSchema(version map[string]any) map[string]any {
	return inner(inner(version, "schema"), "openAPIV3Schema")
}

// statusSchema describes the schema of .status in a version. It returns nil if there is no status subresource.
func statusSchema(version map[string]any) *StatusSchema {
	if _, ok := inner(version, "subresources")["status"]; !ok {
		return nil
	}
	root := rootSchema(version)
	status := inner(inner(root, "properties"), "status")
	out := conditionsSchema(root, status)
	out.Fields = fieldsOf(status)
	return &out
}

// Extensions of JSON Schema in structural schemas.
const (
	preserveKey = "x-kubernetes-preserve-unknown-fields"
	embeddedKey = "x-kubernetes-embedded-resource"
	listTypeKey = "x-kubernetes-list-type"
	listKeysKey = "x-kubernetes-list-map-keys"
)

// conditionFields are the required fields of a condition.
var conditionFields = []string{"type", "status", "reason", "message", "lastTransitionTime"}

// conditionsSchema describes the schema of .status.conditions.
func conditionsSchema(root, status map[string]any) StatusSchema {
	conditions := inner(inner(status, "properties"), "conditions")
	if preserves(root) && len(status) == 0 || preserves(status) && conditions == nil || preserves(conditions) {
		return StatusSchema{Atomic: true, ObservedGeneration: true}
	}
	kind, _ := conditions[listTypeKey].(string)
	switch {
	case conditions["type"] != "array":
		return StatusSchema{Conditions: "the schema has no list .status.conditions: add one, with x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]"}
	case kind == "set" || kind == "map" && !byType(conditions):
		return StatusSchema{Conditions: "the schema does not declare .status.conditions as a list of type map with the key type: add x-kubernetes-list-type: map and x-kubernetes-list-map-keys: [type]"}
	}
	items := inner(conditions, "items")
	for _, field := range conditionFields {
		if !has(items, field) {
			return StatusSchema{Conditions: "the items of .status.conditions have no field " + field + " in the schema: add it"}
		}
	}
	return StatusSchema{Atomic: kind != "map", ObservedGeneration: has(items, "observedGeneration")}
}

// byType reports whether type is the only key of a map list.
func byType(list map[string]any) bool {
	keys, _ := list[listKeysKey].([]any)
	return len(keys) == 1 && keys[0] == "type"
}

func has(schema map[string]any, field string) bool {
	return preserves(schema) || inner(schema, "properties")[field] != nil
}

func preserves(schema map[string]any) bool {
	return schema[preserveKey] == true
}

func inner(m map[string]any, key string) map[string]any {
	o, _ := m[key].(map[string]any)
	return o
}
