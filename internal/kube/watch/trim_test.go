package watch

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

func TestCRDsAreTrimmedOnce(t *testing.T) {
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

// TestAllIncomingObjectsAreTrimmed adds objects in all possible ways.
func TestAllIncomingObjectsAreTrimmed(t *testing.T) {
	named := func(version string) *object.Object {
		return pack(map[string]any{"metadata": map[string]any{"name": "x", "uid": "u", "resourceVersion": version, "annotations": map[string]any{"a": "b"}}})
	}
	for why, bring := range map[string]func(*Cache) error{
		"the first list":  func(c *Cache) error { return c.Replace([]any{named("2")}, "2") },
		"a new object":    func(c *Cache) error { return c.Add(named("2")) },
		"a changed one":   func(c *Cache) error { return c.Update(named("2")) },
		"an own write":    func(c *Cache) error { c.Put(named("2"), "me"); return nil },
		"one in a stream": func(c *Cache) error { o, err := c.Transformer()(named("2")); return errors.Join(err, c.Add(o)) },
	} {
		t.Run(why, func(t *testing.T) {
			trims := 0
			r := newRecorder(t, Want{Role: Controller})
			r.TrimBy(func(o, _ *object.Object) (*object.Object, error) {
				trims++
				out := pack(map[string]any{"metadata": map[string]any{"name": o.Name(), "uid": "u", "resourceVersion": o.ResourceVersion()}})
				out.Note(object.Trimmed)
				return out, nil
			})
			if err := bring(r.Cache); err != nil {
				t.Fatal(err)
			}
			if kept := r.Get(types.NamespacedName{Name: "x"}); kept == nil || kept.Annotation("a") != "" || trims != 1 {
				t.Errorf("kept is %v, trimmed %d times", kept, trims)
			}
		})
	}
}
