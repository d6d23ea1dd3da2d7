package watch

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
)

// slim returns o without the parts that nobody reads. It may change o itself
// and may be called twice; what a role keeps is said with the role.
func slim(role Role, o *unstructured.Unstructured) *unstructured.Unstructured {
	switch role {
	case Parent:
		keepOwnership(o, func(e map[string]any) bool { return e["subresource"] == "status" })
	case Child:
		keepOwnership(o, func(e map[string]any) bool {
			manager, _ := e["manager"].(string)
			return strings.HasPrefix(manager, v1.FieldManagerPrefix) && e["operation"] == string(metav1.ManagedFieldsOperationApply)
		})
	case Namespace:
		keepOwnership(o, func(map[string]any) bool { return false })
		o.Object = map[string]any{"apiVersion": o.Object["apiVersion"], "kind": o.Object["kind"], "metadata": o.Object["metadata"]}
	case Definition:
		keepOwnership(o, func(map[string]any) bool { return false })
		slimDefinition(o)
	case Controller:
		keepOwnership(o, func(map[string]any) bool { return false })
	}
	return o
}

// keepOwnership drops the entries of managedFields that keep does not want.
func keepOwnership(o *unstructured.Unstructured, keep func(map[string]any) bool) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	if len(entries) == 0 {
		return
	}
	var kept []any
	for _, e := range entries {
		if entry, ok := e.(map[string]any); ok && keep(entry) {
			kept = append(kept, entry)
		}
	}
	if len(kept) == 0 {
		delete(metadata, "managedFields")
		return
	}
	if len(kept) < len(entries) {
		metadata["managedFields"] = kept
	}
}

// slimDefinition cuts the schemas of a CustomResourceDefinition down to .status,
// and drops what else is large.
func slimDefinition(o *unstructured.Unstructured) {
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	unstructured.RemoveNestedField(o.Object, "spec", "conversion")
	versions, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "versions")
	list, _ := versions.([]any)
	for _, v := range list {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		delete(version, "additionalPrinterColumns")
		schema, _ := version["schema"].(map[string]any)
		root, _ := schema["openAPIV3Schema"].(map[string]any)
		if root == nil {
			continue
		}
		properties, _ := root["properties"].(map[string]any)
		kept := map[string]any{}
		if status, ok := properties["status"]; ok {
			kept["status"] = status
		}
		slimmed := map[string]any{"properties": kept}
		if preserve, ok := root["x-kubernetes-preserve-unknown-fields"]; ok {
			slimmed["x-kubernetes-preserve-unknown-fields"] = preserve
		}
		schema["openAPIV3Schema"] = slimmed
	}
}
