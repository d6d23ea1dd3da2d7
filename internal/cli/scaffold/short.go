package scaffold

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// short converts a schema to the short form of spec.crd. It returns false for a schema that has no short form.
func short(schema map[string]any) (any, bool) {
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] != "object" || len(properties) == 0 {
		return shortField(schema, false)
	}
	required, _ := schema["required"].([]any)
	out := map[string]any{}
	for name, field := range properties {
		of, _ := field.(map[string]any)
		var value any
		var ok bool
		if slices.Contains(required, any(name)) {
			value, ok = shortField(of, true)
		} else {
			value, ok = short(of)
		}
		if !ok {
			return nil, false
		}
		out[name] = value
	}
	if value, found := schema["default"].(map[string]any); found && len(value) > 0 {
		return nil, false
	}
	return out, only(schema, "type", "properties", "required", "default") // the short form adds an empty default itself
}

// markers are the keys of a schema that become markers of the same name; typeKeys are those that its type is about.
var (
	markers  = []string{"default", "minimum", "maximum", "minLength", "maxLength", "pattern", "description"}
	typeKeys = []string{"type", "items", "additionalProperties", "format", "x-kubernetes-preserve-unknown-fields"}
)

// shortField returns a type with its markers.
func shortField(schema map[string]any, required bool) (string, bool) {
	text, ok := shortType(schema)
	var printedMarkers []string
	if required {
		printedMarkers = append(printedMarkers, "required=true")
	}
	for _, key := range markers {
		value, found := schema[key]
		if !found {
			continue
		}
		printed, isText := value.(string)
		if !isText {
			raw, err := json.Marshal(value)
			ok, printed = ok && err == nil, string(raw)
		}
		if isText && (printed == "" || strings.ContainsAny(printed, " \t\n|\"\\[]{}")) {
			printed = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(printed) + `"`
		}
		printedMarkers = append(printedMarkers, key+"="+printed)
	}
	if len(printedMarkers) > 0 {
		text += " | " + strings.Join(printedMarkers, " ")
	}
	return text, ok && only(schema, slices.Concat(typeKeys, markers, []string{"properties"})...)
}

// shortType returns a type without markers.
func shortType(schema map[string]any) (string, bool) {
	kind, _ := schema["type"].(string)
	inner := func(key string) (string, bool) {
		of, _ := schema[key].(map[string]any)
		text, ok := shortType(of)
		return text, ok && only(of, typeKeys...)
	}
	switch {
	case kind == "array":
		text, ok := inner("items")
		return "[]" + text, ok
	case kind == "object" && schema["additionalProperties"] != nil:
		text, ok := inner("additionalProperties")
		return "map[string]" + text, ok
	case kind == "object":
		return kind, schema["x-kubernetes-preserve-unknown-fields"] == true && schema["properties"] == nil
	case kind == "number":
		return "float", true
	}
	return kind, kind == "string" || kind == "integer" || kind == "boolean"
}

// only reports whether a schema has no other keys.
func only(schema map[string]any, keys ...string) bool {
	for key := range maps.Keys(schema) {
		if !slices.Contains(keys, key) {
			return false
		}
	}
	return true
}

// CRDOf returns spec.crd for the schemas of .spec and of the fields of .status: in short form if possible.
func CRDOf(spec, status map[string]any) map[string]any {
	root := map[string]any{"spec": spec}
	if len(status) > 0 {
		root["status"] = map[string]any{"type": "object", "properties": status}
	}
	parts := map[string]any{}
	for name, of := range root {
		value, ok := short(of.(map[string]any)) //nolint:forcetypeassert // see above
		if _, isMapping := value.(map[string]any); !ok || !isMapping {
			return map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": root}}
		}
		parts[name] = value
	}
	return map[string]any{"schema": parts}
}
