package simulate

import (
	"bytes"
	"maps"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Map returns JSON data that is a mapping, or nil.
func Map(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// Text returns JSON data that is a string, or "".
func Text(v any) string {
	s, _ := v.(string)
	return s
}

// Same reports whether two values are the same JSON data.
func Same(a, b any) bool { return bytes.Equal(object.Append(nil, a), object.Append(nil, b)) }

// merged returns old with the fields of changes; lists are replaced.
func merged(old, changes map[string]any) map[string]any {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range changes {
		if inner, isMap := value.(map[string]any); isMap {
			value = merged(Map(out[key]), inner)
		}
		out[key] = value
	}
	return out
}

// covers reports whether content has all fields of want, with the same values. Lists must have equal lengths.
func covers(content, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		there, isMap := content.(map[string]any)
		for key, value := range want {
			if !covers(there[key], value) {
				return false
			}
		}
		return isMap || len(want) == 0
	case []any:
		there, _ := content.([]any)
		if len(there) != len(want) {
			return false
		}
		for i := range want {
			if !covers(there[i], want[i]) {
				return false
			}
		}
		return true
	}
	return Same(content, want)
}
