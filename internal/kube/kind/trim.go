package kind

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Trim returns a CustomResourceDefinition whose schemas are cut down to .status, without what else is
// large. One that has been trimmed is returned as it is.
func Trim(definition *object.Object) (*object.Object, error) {
	if definition.Noted(object.Trimmed) {
		return definition, nil
	}
	content := definition.Content()
	unstructured.RemoveNestedField(content, "metadata", "annotations")
	unstructured.RemoveNestedField(content, "spec", "conversion")
	versions, _, _ := unstructured.NestedFieldNoCopy(content, "spec", "versions")
	list, _ := versions.([]any)
	for _, v := range list {
		version, _ := v.(map[string]any)
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
		trimmed := map[string]any{"properties": kept}
		if preserve, ok := root["x-kubernetes-preserve-unknown-fields"]; ok {
			trimmed["x-kubernetes-preserve-unknown-fields"] = preserve
		}
		schema["openAPIV3Schema"] = trimmed
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata["resourceVersion"] = definition.ResourceVersion()
	}
	out, err := object.From(content)
	if err == nil {
		out.Note(object.Trimmed)
	}
	return out, err
}
