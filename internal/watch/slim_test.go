package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/object"
)

func TestWhatIsNoDefinitionOfAVersionStaysAsItIs(t *testing.T) {
	const preserves = "x-kubernetes-preserve-unknown-fields"
	slim, err := slimDefinition(pack(map[string]any{
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
	if diff := cmp.Diff(want, slim.Content()["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if slim.ResourceVersion() != "7" {
		t.Errorf("version %q, want that of the definition", slim.ResourceVersion())
	}
}

func TestDefinitionsAreSlimmedOnce(t *testing.T) {
	r := newRecorder(t, Want{Role: Definition})
	slim, err := r.Transformer()(pack(map[string]any{"metadata": map[string]any{"name": "x"}}))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Transformer()(slim); err != nil || again != slim {
		t.Errorf("%v becomes %v, err %v", slim, again, err)
	}
}

func TestOtherObjectsAreNotSlimmed(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	o := pack(map[string]any{"metadata": map[string]any{"name": "x", "annotations": map[string]any{"a": "b"}}})
	if kept, err := r.Transformer()(o); err != nil || kept != o || o.Noted(object.Slim) {
		t.Errorf("%v becomes %v, err %v", o, kept, err)
	}
}
