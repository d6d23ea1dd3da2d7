package kind

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/object"
)

// mostSchema is how many bytes of a definition say which fields .status can hold. In versions beyond that, it can hold any.
const mostSchema = 64 << 10

// Trim returns a CustomResourceDefinition of which only that is left which is read: of its schemas the fields of .status. One that has been
// trimmed is returned as it is.
func Trim(definition *object.Object) (*object.Object, error) {
	if definition.Noted(object.Trimmed) {
		return definition, nil
	}
	content := definition.Content()
	unstructured.RemoveNestedField(content, "metadata", "annotations")
	unstructured.RemoveNestedField(content, "spec", "conversion")
	room := mostSchema
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

// trimVersion cuts a version of a definition down to what is read of it. It returns how many bytes its schema of .status takes, of which there
// is room for so many.
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
		trimmed := fieldsAlone(status)
		if size = len(object.Append(nil, trimmed)); size > room {
			trimmed, size = conditionsAlone(status), 0
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

// fieldsAlone returns what is read of a schema of .status: see statusSchema.
func fieldsAlone(status map[string]any) map[string]any {
	out := structure(status)
	if conditions := inner(inner(status, "properties"), "conditions"); conditions != nil {
		copyList(conditions, inner(inner(out, "properties"), "conditions"))
	}
	return out
}

// structure returns what a schema says of the fields that there can be.
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

// copyList copies what is read of how a list of conditions is merged.
func copyList(from, to map[string]any) {
	if kind, ok := from[listTypeKey]; ok {
		to[listTypeKey] = kind
	}
	if byType(from) {
		to[listKeysKey] = []any{"type"}
	}
}

// conditionsAlone returns a schema of .status that allows any field, and conditions as the schema does.
func conditionsAlone(status map[string]any) map[string]any {
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

// Fields says which fields a value can hold, as far as its schema tells. A nil Fields allows any. It never changes.
type Fields struct {
	names map[string]*Fields // of a mapping with known keys; nil for others
	items *Fields            // of a list, or of a mapping whose keys are not known
}

// fieldsOf reads the fields that a structural schema allows.
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

// DropUnknown removes from content the fields that it cannot hold. Before that, it calls unknown with the path of each of them, which
// begins with at.
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
