package kind

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDropUnknownFields(t *testing.T) {
	text := map[string]any{"type": "string"}
	object := func(properties map[string]any) map[string]any {
		return map[string]any{"type": "object", "properties": properties}
	}
	for why, row := range map[string]struct {
		schema, content, want map[string]any
		paths                 []string
	}{
		"a field of the schema is kept":      {object(map[string]any{"a": text}), map[string]any{"a": "x"}, map[string]any{"a": "x"}, nil},
		"another one is dropped":             {object(map[string]any{"a": text}), map[string]any{"a": "x", "b": "y"}, map[string]any{"a": "x"}, []string{".status.b"}},
		"an open schema keeps all":           {map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{"a": text}}, map[string]any{"b": "y"}, map[string]any{"b": "y"}, nil},
		"a schema that says nothing as well": {map[string]any{"type": "object"}, map[string]any{"b": "y"}, map[string]any{"b": "y"}, nil},
		"in items of a list": {
			object(map[string]any{"l": map[string]any{"type": "array", "items": object(map[string]any{"a": text})}}),
			map[string]any{"l": []any{map[string]any{"a": "x"}, map[string]any{"b": "y"}}}, map[string]any{"l": []any{map[string]any{"a": "x"}, map[string]any{}}}, []string{".status.l[1].b"},
		},
		"in values of a map": {
			object(map[string]any{"m": map[string]any{"type": "object", "additionalProperties": object(map[string]any{"a": text})}}),
			map[string]any{"m": map[string]any{"k": map[string]any{"b": "y"}}}, map[string]any{"m": map[string]any{"k": map[string]any{}}}, []string{".status.m.k.b"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			var paths []string
			fieldsOf(row.schema).DropUnknown(row.content, ".status", func(path string) { paths = append(paths, path) })
			if diff := cmp.Diff(row.want, row.content); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.paths, paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}
