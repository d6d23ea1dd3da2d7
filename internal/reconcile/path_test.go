package reconcile_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// controllerOf returns a controller with the template of a child.
func controllerOf(t *testing.T, template string) *running.Controller {
	t.Helper()
	compiled, r := spec.Compile("c", &v1.TemplateControllerSpec{
		Watch:    v1.Watch{APIVersion: "v1", Kind: "ConfigMap"},
		Children: []v1.Child{{Name: "a", Template: template}},
	})
	if r != nil {
		t.Fatal(r.Message)
	}
	return &running.Controller{Definition: running.Definition{Name: "c", Program: compiled.Program}, Factory: &child.Factory{Program: compiled.Program}}
}

// TestRewritesTellNoKeysFromData writes the same status over and over, with a key from data that changes.
func TestRewritesTellNoKeysFromData(t *testing.T) {
	c := controllerOf(t, "count: {{ .spec.map }}")
	f := queue.NewRewrites()
	f.Status(nil, map[string]any{"count": map[string]any{secret: int64(1)}}, c.Author().Path)
	f.Status(nil, map[string]any{"count": map[string]any{}}, c.Author().Path)
	if got, want := f.Advice(), "the templates render something different each time for .status.count.…: "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %s", got, want)
	}
}

// TestRefusedStatusTellsNoKeysFromData is about the message of the server; contents are told by their hash alone.
func TestRefusedStatusTellsNoKeysFromData(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.StatusOnly("xs", "color: { {{ .metadata.uid }}: red }"))
	c.KubectlApply(app)
	c.Refuse["status apps one"] = refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "",
		metav1.StatusCause{Type: metav1.CauseTypeFieldValueRequired, Field: "status.color.uid-one"})
	c.Run()
	if diff := cmp.Diff([]string{"one Warning StatusRejected: cannot write the status: status.color.…: required value is missing"}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func TestKeysThatAreTooLongAreToldByTheirPlace(t *testing.T) {
	c := controllerOf(t, "spec: {known: {{ .spec.map }}}")
	long := strings.Repeat("k", 2000)
	for want, content := range map[string]map[string]any{
		"the document has a key":  {long: 1},
		"spec.known.… has a key ": {"spec": map[string]any{"known": map[string]any{secret: map[string]any{long: 1}}}},
	} {
		if got := c.Factory.KeyFault(content); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %s", got, want)
		}
	}
}
