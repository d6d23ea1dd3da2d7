package kind

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/object"
)

// maxSchemaBytes is the size limit of the kept .status schemas of a CustomResourceDefinition, in bytes. Versions beyond it allow any
// field in .status.
const maxSchemaBytes = 64 << 10

// Trim removes the unused parts of a CustomResourceDefinition. Of its schemas, it keeps the fields of .status. It returns a
// trimmed object unchanged.
func Trim(definition *object.Object) (*object.Object, error) {
	if definition.Noted(object.Trimmed) {
		return definition, nil
	}
	content := definition.Content()
	unstructured.RemoveNestedField(content, "metadata", "annotations")
	unstructured.RemoveNestedField(content, "spec", "conversion")
	room := maxSchemaBytes
	for _, version := range versions(content) {
		room -= trimVersion(version, room)
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

// trimVersion removes the unused parts of a version. It returns the size of the kept schema of .status in bytes, which is at most
// room.
func trimVersion(version map[string]any, room int) (size int) {
	for _, key := range []string{"additionalPrinterColumns", "deprecationWarning", "selectableFields"} {
		delete(version, key)
	}
	schema := inner(version, "schema")
	root := inner(schema, "openAPIV3Schema")
	if root == nil {
		return 0
	}
	kept := map[string]any{}
	if status, ok := inner(root, "properties")["status"].(map[string]any); ok {
		trimmed := fieldSchema(status)
		if size = len(object.Append(nil, trimmed)); size > room {
			trimmed, size = conditionSchema(status), 0
		}
		kept["status"] = trimmed
	}
	trimmed := map[string]any{"properties": kept}
	if preserve, ok := root[preserveKey]; ok {
		trimmed[preserveKey] = preserve
	}
	schema["openAPIV3Schema"] = trimmed
	return size
}

// fieldSchema returns the used parts of a schema of .status: see statusSchema.
func fieldSchema(status map[string]any) map[string]any {
	out := structure(status)
	if conditions := inner(inner(status, "properties"), "conditions"); conditions != nil {
		copyList(conditions, inner(inner(out, "properties"), "conditions"))
	}
	return out
}

// structure returns the parts of a schema that determine the allowed fields.
func structure(schema map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"type", preserveKey, embeddedKey} {
		if value, ok := schema[key]; ok {
			out[key] = value
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if below := inner(schema, key); below != nil {
			out[key] = structure(below)
		}
	}
	if properties := inner(schema, "properties"); len(properties) > 0 {
		below := make(map[string]any, len(properties))
		for name := range properties {
			below[name] = structure(inner(properties, name))
		}
		out["properties"] = below
	}
	return out
}

// copyList copies how a list of conditions is merged.
func copyList(from, to map[string]any) {
	if kind, ok := from[listTypeKey]; ok {
		to[listTypeKey] = kind
	}
	if byType(from) {
		to[listKeysKey] = []any{"type"}
	}
}

// conditionSchema returns a schema of .status that allows any field, with the conditions of the given schema.
func conditionSchema(status map[string]any) map[string]any {
	out := map[string]any{"type": "object", preserveKey: true}
	from := inner(inner(status, "properties"), "conditions")
	if from == nil && preserves(status) {
		return out
	}
	conditions, items, fields := map[string]any{}, map[string]any{}, map[string]any{}
	for _, each := range []struct{ from, to map[string]any }{{from, conditions}, {inner(from, "items"), items}} {
		for _, key := range []string{"type", preserveKey} {
			if value, ok := each.from[key]; ok {
				each.to[key] = value
			}
		}
	}
	copyList(from, conditions)
	for _, name := range append([]string{"observedGeneration"}, conditionFields...) {
		if inner(inner(from, "items"), "properties")[name] != nil {
			fields[name] = map[string]any{}
		}
	}
	items["properties"] = fields
	conditions["items"] = items
	out["properties"] = map[string]any{"conditions": conditions}
	return out
}

// Fields describes the fields that a schema allows in a value. A nil Fields allows any. It is immutable.
type Fields struct {
	names map[string]*Fields // of a map with known keys, otherwise nil
	items *Fields            // of a list, or of a map with arbitrary keys
}

// fieldsOf returns the fields that a structural schema allows.
func fieldsOf(schema map[string]any) *Fields {
	if len(schema) == 0 || preserves(schema) || schema[embeddedKey] == true {
		return nil
	}
	if properties := inner(schema, "properties"); len(properties) > 0 {
		names := make(map[string]*Fields, len(properties))
		for name := range properties {
			names[name] = fieldsOf(inner(properties, name))
		}
		return &Fields{names: names}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if items := fieldsOf(inner(schema, key)); items != nil {
			return &Fields{items: items}
		}
	}
	return nil
}

// DropUnknown removes the fields from content that the schema does not allow. Before each removal, it calls unknown with the
// path, which begins with at.
func (f *Fields) DropUnknown(content any, at string, unknown func(path string)) {
	if f == nil {
		return
	}
	switch content := content.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(content)) {
			below, ok := f.names[name]
			switch {
			case f.names == nil:
				f.items.DropUnknown(content[name], at+"."+name, unknown)
			case ok:
				below.DropUnknown(content[name], at+"."+name, unknown)
			default:
				unknown(at + "." + name)
				delete(content, name)
			}
		}
	case []any:
		for i, item := range content {
			f.items.DropUnknown(item, at+"["+strconv.Itoa(i)+"]", unknown)
		}
	}
}
