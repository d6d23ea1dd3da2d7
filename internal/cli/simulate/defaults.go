package simulate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// withDefaults returns a value with the defaults of its schema for missing fields, and for null if it is not allowed, as the API
// server does. It does not modify the value.
func withDefaults(value any, schema map[string]any) any {
	switch value := value.(type) {
	case map[string]any:
		return fieldsWithDefaults(value, schema)
	case []any:
		items := Map(schema["items"])
		if len(items) == 0 {
			return value
		}
		out := slices.Clone(value)
		for i := range out {
			out[i] = withDefaults(out[i], items)
		}
		return out
	}
	return value
}

func fieldsWithDefaults(value, schema map[string]any) map[string]any {
	out := maps.Clone(value)
	properties := Map(schema["properties"])
	for key, each := range properties {
		field := Map(each)
		given, there := out[key]
		byDefault, has := field["default"]
		if has && (!there || given == nil && field["nullable"] != true) {
			out[key] = runtime.DeepCopyJSONValue(byDefault)
		}
	}
	additional := Map(schema["additionalProperties"])
	for key, each := range out {
		if field := Map(properties[key]); len(field) > 0 {
			out[key] = withDefaults(each, field)
		} else if len(additional) > 0 {
			out[key] = withDefaults(each, additional)
		}
	}
	return out
}
