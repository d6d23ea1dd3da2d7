package kind

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/object"
)

func pack(t *testing.T, content map[string]any) *object.Object {
	t.Helper()
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestTrimKeepsMalformedCRDVersions(t *testing.T) {
	const preserves = "x-kubernetes-preserve-unknown-fields"
	trimmed, err := Trim(pack(t, map[string]any{
		"metadata": map[string]any{"name": "x", "resourceVersion": "7"},
		"spec": map[string]any{"versions": []any{
			"odd",
			map[string]any{"name": "v1", "schema": map[string]any{}},
			map[string]any{"name": "v2", "schema": map[string]any{"openAPIV3Schema": map[string]any{preserves: true, "type": "object"}}},
		}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"versions": []any{
		"odd",
		map[string]any{"name": "v1", "schema": map[string]any{}},
		map[string]any{"name": "v2", "schema": map[string]any{"openAPIV3Schema": map[string]any{preserves: true, "properties": map[string]any{}}}},
	}}
	if diff := cmp.Diff(want, trimmed.Content()["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if trimmed.ResourceVersion() != "7" {
		t.Errorf("version %q, want that of the definition", trimmed.ResourceVersion())
	}
}

func TestTrimDropsUnusedCRDFields(t *testing.T) {
	trimmed, err := Trim(pack(t, map[string]any{
		"metadata": map[string]any{"name": "x", "annotations": map[string]any{"a": "long"}},
		"spec": map[string]any{"group": "g", "conversion": map[string]any{}, "versions": []any{map[string]any{
			"name": "v1", "additionalPrinterColumns": []any{}, "schema": map[string]any{"openAPIV3Schema": map[string]any{
				"description": "long", "properties": map[string]any{"spec": map[string]any{"type": "object"}, "status": map[string]any{"type": "object"}},
			}},
		}}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"name": "x"},
		"spec": map[string]any{"group": "g", "versions": []any{map[string]any{
			"name": "v1", "schema": map[string]any{"openAPIV3Schema": map[string]any{"properties": map[string]any{"status": map[string]any{"type": "object"}}}},
		}}},
	}
	got := trimmed.Content()
	delete(got["metadata"].(map[string]any), "resourceVersion")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
	if again, err := Trim(trimmed); err != nil || again != trimmed {
		t.Errorf("it becomes %v, err %v, want it as it is", again, err)
	}
}

func TestNotFoundErrorGoneAndWatched(t *testing.T) {
	for why, row := range map[string]struct {
		missing       NotFoundError
		gone, watched bool
	}{
		"missing":                   {NotFoundError{}, true, false},
		"served in another version": {NotFoundError{Served: "v2"}, false, false},
		"defined":                   {NotFoundError{Definition: "x"}, false, true},
		"away":                      {NotFoundError{APIServiceUnavailable: true}, false, false},
	} {
		if gone, watched := row.missing.Gone(), row.missing.Watched(); gone != row.gone || watched != row.watched {
			t.Errorf("%s: gone %v and watched %v, want %v and %v", why, gone, watched, row.gone, row.watched)
		}
	}
}

// conditionsText is the schema of .status.conditions recommended by the API conventions, with additional descriptions.
const conditionsText = `{"type": "array", "description": "long", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "required": ["type"], "properties": {
	"type": {"type": "string", "maxLength": 316}, "status": {"type": "string", "enum": ["True", "False"]}, "reason": {"type": "string"}, "message": {"type": "string"},
	"lastTransitionTime": {"type": "string", "format": "date-time"}, "observedGeneration": {"type": "integer"}}}}`

// withStatus returns a definition whose versions have these schemas of .status.
func withStatus(t *testing.T, schemas ...string) *object.Object {
	t.Helper()
	var versions []any
	for i, text := range schemas {
		var status map[string]any
		if err := json.Unmarshal([]byte(text), &status); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, map[string]any{
			"name": fmt.Sprint("v", i), "served": true, "storage": i == 0, "deprecationWarning": "long", "subresources": map[string]any{"status": map[string]any{}},
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"status": status}}},
		})
	}
	return pack(t, map[string]any{"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"group": "g", "versions": versions}})
}

// statusOf returns the status schemas of all versions of a definition.
func statusOf(definition *object.Object) (all []*StatusSchema) {
	for _, version := range versions(definition.Content()) {
		all = append(all, statusSchema(version))
	}
	return all
}

func TestTrimKeepsSchemaMeaning(t *testing.T) {
	for why, status := range map[string]string{
		"conditions":            `{"type": "object", "properties": {"conditions": ` + conditionsText + `}}`,
		"an atomic list":        `{"type": "object", "properties": {"conditions": ` + strings.Replace(conditionsText, `"map",`, `"atomic",`, 1) + `}}`,
		"a map by another key":  `{"type": "object", "properties": {"conditions": ` + strings.Replace(conditionsText, `["type"]`, `["reason"]`, 1) + `}}`,
		"no conditions":         `{"type": "object", "properties": {"a": {"type": "string", "description": "long"}}}`,
		"anything":              `{"type": "object", "x-kubernetes-preserve-unknown-fields": true}`,
		"nothing is said":       `{}`,
		"lists and maps":        `{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer", "minimum": 1}}}}, "c": {"type": "object", "additionalProperties": {"type": "object", "properties": {"d": {}}}}}}`,
		"an embedded resource":  `{"type": "object", "properties": {"a": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}}}}`,
		"fields of those names": `{"type": "object", "properties": {"description": {"type": "string"}, "properties": {"type": "object", "properties": {"items": {"type": "string"}}}}}`,
		"items that may be all": `{"type": "object", "properties": {"conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}`,
	} {
		t.Run(why, func(t *testing.T) {
			whole := withStatus(t, status)
			trimmed, err := Trim(whole)
			if err != nil {
				t.Fatal(err)
			}
			if want, got := statusOf(whole), statusOf(trimmed); !reflect.DeepEqual(want, got) {
				t.Errorf("it is read as %+v, want %+v", got[0], want[0])
			}
			if text := string(must(json.Marshal(trimmed.Content()))); strings.Contains(text, `"long"`) {
				t.Errorf("what nobody reads is kept: %s", text)
			}
		})
	}
}

func must(text []byte, _ error) []byte { return text }

func TestTrimmedCRDSizeIsIndependentOfInput(t *testing.T) {
	many := func(conditions string) string {
		var fields []string
		for i := range 20_000 {
			fields = append(fields, fmt.Sprintf(`"field-%d": {"type": "string"}`, i))
		}
		return `{"type": "object", "properties": {` + conditions + strings.Join(fields, ", ") + `}}`
	}
	small := `{"type": "object", "properties": {"conditions": ` + conditionsText + `, "a": {"type": "string"}}}`
	large := strings.Replace(conditionsText, `"type": {"type": "string", "maxLength": 316}`, `"type": {"type": "object", `+many("")[len(`{"type": "object", `):], 1)
	for why, row := range map[string]struct {
		schemas []string
		any     int  // how many of the versions allow any field
		without bool // whether the versions have no conditions
	}{
		"long descriptions":               {schemas: []string{strings.Replace(small, `"a": {`, `"a": {"description": "`+strings.Repeat("x", 1<<20)+`", `, 1)}},
		"many fields":                     {schemas: []string{many(`"conditions": ` + conditionsText + ", ")}, any: 1},
		"many fields and no conditions":   {schemas: []string{many("")}, any: 1, without: true},
		"a condition of many fields":      {schemas: []string{`{"type": "object", "properties": {"conditions": ` + large + `}}`}, any: 1},
		"a small version after large one": {schemas: []string{many(`"conditions": ` + conditionsText + ", "), small}, any: 1},
	} {
		t.Run(why, func(t *testing.T) {
			trimmed, err := Trim(withStatus(t, row.schemas...))
			if err != nil {
				t.Fatal(err)
			}
			if n := trimmed.Len(); n > 8<<10 {
				t.Errorf("it takes %d bytes", n)
			}
			open := 0
			for _, status := range statusOf(trimmed) {
				if status.Fields == nil {
					open++
				}
				if (status.Conditions != "") != row.without || status.Atomic {
					t.Errorf("conditions: %q, atomic %v", status.Conditions, status.Atomic)
				}
			}
			if open != row.any {
				t.Errorf("%d versions allow any field of .status, want %d", open, row.any)
			}
		})
	}
}
