package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/object"
)

// secret stands for a value that may be told nobody.
const secret = "s3cr3t"

// parse reads YAML as the API machinery does: whole numbers are int64.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return u.Object
}

func TestStateOfAnObjectIsFoundOutOnce(t *testing.T) {
	for text, want := range map[string]State{
		"status: {conditions: [{type: Complete, status: 'True'}]}": Ready,
		"status: {conditions: [{type: Failed, status: 'True'}]}":   Failed,
		"status: {}": InProgress,
	} {
		o, err := object.From(parse(t, "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, "+text+"}"))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := Of(o); got != want {
				t.Errorf("%s: state %d, want %d", text, got, want)
			}
		}
		if allocated := testing.AllocsPerRun(10, func() { Of(o) }); allocated > 0 {
			t.Errorf("%s: the state is found out again", text)
		}
		if gone := o.Terminating("2026-01-01T00:00:00Z"); Of(gone) != InProgress {
			t.Errorf("%s: being deleted, it is still in another state", text)
		}
	}
}
