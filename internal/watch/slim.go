package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/object"
)

// slimDefinition cuts the schemas of a CustomResourceDefinition down to .status,
// and drops what else is large.
func slimDefinition(o *object.Object) (*object.Object, error) {
	content := o.Content()
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
		slimmed := map[string]any{"properties": kept}
		if preserve, ok := root["x-kubernetes-preserve-unknown-fields"]; ok {
			slimmed["x-kubernetes-preserve-unknown-fields"] = preserve
		}
		schema["openAPIV3Schema"] = slimmed
	}
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata["resourceVersion"] = o.ResourceVersion()
	}
	slim, err := object.From(content)
	if err == nil {
		slim.Note(object.Slim)
	}
	return slim, err
}
