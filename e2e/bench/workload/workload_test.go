package workload

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func parent() *unstructured.Unstructured {
	p := Parent(Item, ParentName(7))
	p.SetUID("u")
	p.SetGeneration(3)
	return p
}

func TestChild(t *testing.T) {
	task := Task{Name: "items", Kind: Item, ChildKind: ConfigMap, Children: 2, Tint: "dark"}
	child := &unstructured.Unstructured{Object: task.Child(parent(), 1, true)}
	if child.GetName() != "p-000007-items-1" || child.GetNamespace() != Namespace || child.GetResourceVersion() != "1" {
		t.Errorf("a child that is created: %v", child.Object["metadata"])
	}
	text, _, _ := unstructured.NestedString(parent().Object, "spec", "text")
	if diff := cmp.Diff(map[string]any{"color": Red, "text": text, "tint": "dark"}, child.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(task.Selector(), Selector+"=") || child.GetLabels()[Selector] != task.Name {
		t.Errorf("%s does not select %v", task.Selector(), child.GetLabels())
	}
	if hash := child.GetAnnotations()["templater.dev/applied-hash"]; len(hash) != 32 {
		t.Errorf("the hash %q is not as long as the operator's", hash)
	}
	again := &unstructured.Unstructured{Object: task.Child(parent(), 1, false)}
	if again.GetResourceVersion() != "" {
		t.Errorf("a child that is changed has the resource version %s", again.GetResourceVersion())
	}
}

func TestStatus(t *testing.T) {
	pods := Task{Name: "pods", Kind: Item, ChildKind: Pod, Children: 1}
	configs := Task{Name: "items", Kind: Item, ChildKind: ConfigMap, Children: 2}
	for why, row := range map[string]struct {
		task    Task
		phases  []string
		status  string
		message string
	}{
		"a ConfigMap is ready at once": {configs, nil, "True", "all children are ready: 2"},
		"a Pod that does not run yet":  {pods, []string{"Pending"}, "False", "0 of 1 children are ready"},
		"a Pod that runs":              {pods, []string{"Running"}, "True", "all children are ready: 1"},
	} {
		t.Run(why, func(t *testing.T) {
			o := row.task.Status(parent(), row.phases)
			conditions, _, _ := unstructured.NestedSlice(map[string]any{"status": copied(t, o["status"])}, "status", "conditions")
			condition, _ := conditions[0].(map[string]any)
			delete(condition, "lastTransitionTime")
			delete(condition, "reason")
			want := map[string]any{"type": "Ready", "status": row.status, "message": row.message, "observedGeneration": 3.0}
			if diff := cmp.Diff(want, condition); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

// copied is a value after a JSON round trip.
func copied(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTemplates(t *testing.T) {
	one := Task{Name: "items", Kind: Item, ChildKind: ConfigMap, Children: 1}
	if text := one.childTemplate(); strings.Contains(text, "range") || !strings.Contains(text, "-items-0\n") {
		t.Errorf("the template of one child:\n%s", text)
	}
	ten := Task{Name: "tens", Kind: Item, ChildKind: ConfigMap, Children: 10}
	if text := ten.childTemplate(); !strings.Contains(text, "until 10") || !strings.Contains(text, "-tens-{{ $i }}\n") {
		t.Errorf("the template of ten children:\n%s", text)
	}
	for _, task := range []Task{one, ten, {Name: "pods", Kind: Item, ChildKind: Pod, Children: 1}} {
		if text := task.childTemplate() + task.statusTemplate(); strings.Contains(text, "@") {
			t.Errorf("something was not filled in:\n%s", text)
		}
	}
}
