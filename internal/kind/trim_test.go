package kind

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/object"
)

func pack(t *testing.T, content map[string]any) *object.Object {
	t.Helper()
	o, err := object.From(content)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhatIsNoDefinitionOfAVersionStaysAsItIs(t *testing.T) {
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
