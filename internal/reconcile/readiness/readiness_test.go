package readiness

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/kube/object"
)

// secret is a value that must not appear in messages.
const secret = "s3cr3t"

// parse decodes YAML like the API machinery: integers are int64.
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

func TestReadinessIsCachedPerObject(t *testing.T) {
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

func TestMayLagBehindGeneration(t *testing.T) {
	for why, row := range map[string]struct {
		text    string
		reports bool
		want    bool
	}{
		"nothing is to be expected":        {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`, false, false},
		"a status is yet to come":          {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 1}}`, true, true},
		"it was never changed":             {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 1}, "status": {"phase": "Done"}}`, true, false},
		"it was changed":                   {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"phase": "Done"}}`, true, true},
		"its changes are not counted":      {`{"apiVersion": "v1", "kind": "A", "metadata": {}, "status": {"phase": "Done"}}`, false, true},
		"the status says what it is of":    {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"observedGeneration": 2}}`, true, false},
		"its condition says what it is of": {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"conditions": [{"type": "Ready", "observedGeneration": 2}]}}`, true, false},
		"another condition says it":        {`{"apiVersion": "a/v1", "kind": "A", "metadata": {"generation": 2}, "status": {"conditions": [{"type": "Synced", "observedGeneration": 2}]}}`, true, true},
		"a Pod is restarted":               {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": 2}, "status": {"observedGeneration": 2}}`, false, true},
		"a Pod is as it was made":          {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": 1}, "status": {"phase": "Running"}}`, false, false},
		"another kind that is called Pod":  {`{"apiVersion": "a/v1", "kind": "Pod", "metadata": {"generation": 2}, "status": {"observedGeneration": 2}}`, true, false},
	} {
		if got := MayLag(parse(t, row.text), row.reports); got != row.want {
			t.Errorf("%s: got %v, want %v", why, got, row.want)
		}
	}
}
