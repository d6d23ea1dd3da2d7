package watch

import (
	"testing"

	"github.com/templater-dev/templater/internal/kube/object"
)

func TestDefinitionsAreTrimmedOnce(t *testing.T) {
	r := newRecorder(t, Want{Role: Definition})
	trimmed, err := r.Transformer()(pack(map[string]any{"metadata": map[string]any{"name": "x"}}))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := r.Transformer()(trimmed); err != nil || again != trimmed {
		t.Errorf("%v becomes %v, err %v", trimmed, again, err)
	}
}

func TestOtherObjectsAreNotTrimmed(t *testing.T) {
	r := newRecorder(t, Want{Role: Child})
	o := pack(map[string]any{"metadata": map[string]any{"name": "x", "annotations": map[string]any{"a": "b"}}})
	if kept, err := r.Transformer()(o); err != nil || kept != o || o.Noted(object.Trimmed) {
		t.Errorf("%v becomes %v, err %v", o, kept, err)
	}
}
