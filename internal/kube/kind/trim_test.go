package kind

import (
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

func TestWhatNobodyReadsOfADefinitionIsLeftOut(t *testing.T) {
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

func TestKindsThatCanHaveNoObjects(t *testing.T) {
	for why, row := range map[string]struct {
		missing       NotFoundError
		gone, watched bool
	}{
		"missing":                   {NotFoundError{}, true, false},
		"served in another version": {NotFoundError{Served: "v2"}, false, false},
		"defined":                   {NotFoundError{Definition: "x"}, false, true},
		"away":                      {NotFoundError{Away: true}, false, false},
	} {
		if gone, watched := row.missing.Gone(), row.missing.Watched(); gone != row.gone || watched != row.watched {
			t.Errorf("%s: gone %v and watched %v, want %v and %v", why, gone, watched, row.gone, row.watched)
		}
	}
}
