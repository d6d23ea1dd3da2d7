package reconcile_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// TestPersistentConflictIsReported makes the API server always return 409 for a request, while nothing changes. The parent must not be ready,
// and must report which request is rejected and by whom; the retries back off.
func TestPersistentConflictIsReported(t *testing.T) {
	webhook := refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: hello`)
	taken := refusal(http.StatusConflict, metav1.StatusReasonAlreadyExists, `admission webhook "no.example.org" denied the request: hello`)
	plain := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "a", nil)
	const by = `denied by admission webhook "no.example.org"`
	fewer := func(c *cluster) { c.KubectlApply(newApp(withChildren("a"))) }
	changed := func(c *cluster) { c.KubectlApply(newApp(withText("bye"))) }
	missing := func(c *cluster) { c.RemoveNow(configMap("a")) }
	for _, row := range []struct {
		why, strategy string
		change        func(*cluster)
		request       string
		err           error
		want          string
	}{
		{"a webhook refuses to create", "Apply", missing, "create configmaps a", webhook, "ChildRejected: cannot create ConfigMap ns/a: " + by},
		{"a webhook refuses to create, as if the name were taken", "Apply", missing, "create configmaps a", taken, "ChildRejected: cannot create ConfigMap ns/a: " + by},
		{"the name is taken by nothing", "Apply", missing, "create configmaps a", plain, "ChildRejected: cannot create ConfigMap ns/a: the API server returned 409 Conflict"},
		{"a webhook refuses to update", "Apply", changed, "update configmaps a", webhook, "ChildRejected: cannot update ConfigMap ns/a: " + by},
		{"the server refuses to update what is as it was", "Apply", changed, "update configmaps a", plain, "ChildRejected: cannot update ConfigMap ns/a: the API server returned 409 Conflict"},
		{"a webhook refuses to delete", "Apply", fewer, "delete configmaps b", webhook, "ChildRejected: cannot delete ConfigMap ns/b: " + by},
		{"the server refuses to delete what is as it was", "Apply", fewer, "delete configmaps b", plain, "ChildRejected: cannot delete ConfigMap ns/b: the API server returned 409 Conflict"},
		{"a webhook refuses to delete for a replacement", "Recreate", changed, "delete-foreground configmaps a", webhook, "ChildRejected: cannot delete ConfigMap ns/a: " + by},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := begun(t, withStrategy(t, row.strategy), app)
			c.Refuse[row.request] = row.err
			row.change(c)
			for range 3 { // it is persistent
				result, _ := c.Reconcile("apps", "one")
				c.Deliver()
				if got := c.Condition("apps", "one", "Ready"); got != "False "+row.want || result.Retry != problem.RetryBackoff {
					t.Fatalf("ready condition %q and retry %v, want %q and backoff", got, result.Retry, row.want)
				}
			}
			warnings := c.warnings()
			if len(warnings) != 1 || !strings.Contains(warnings[0], row.want) {
				t.Errorf("Events %q, want one of it", warnings)
			}
		})
	}
}

// TestPersistentStatusConflictIsReported rejects status writes with 409.
func TestPersistentStatusConflictIsReported(t *testing.T) {
	for why, row := range map[string]struct {
		err  error
		want string
	}{
		"by a webhook":  {refusal(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: x`), `denied by admission webhook "no.example.org"`},
		"by the server": {apierrors.NewConflict(schema.GroupResource{Resource: "apps"}, "one", nil), "the API server returned 409 Conflict"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.Refuse["status apps one"] = row.err
			c.KubectlApply(apps)
			c.KubectlApply(app)
			for range 600 {
				c.Run()
				c.Deliver()
				c.Clock.SetTime(c.Clock.Now().Add(100 * time.Millisecond))
			}
			if want := "one Warning StatusRejected: cannot write the status: " + row.want; len(c.Events) != 1 || c.Events[0] != want {
				t.Errorf("Events %q, want %q", c.Events, want)
			}
			if got := c.controllers.tracked["apps"].counts.Parents; got.Failed != 1 {
				t.Errorf("counts %+v, want one that has failed", got)
			}
		})
	}
}

// TestConflictWithDeletedObjectIsRetriedImmediately deletes the conflicting object between two requests.
func TestConflictWithDeletedObjectIsRetriedImmediately(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply("{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a}}")
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.During = func() {
		if c.Requests[len(c.Requests)-1] == "get configmaps a" {
			c.Remove(configMap("a"))
		}
	}
	wantRequests(t, "somebody deletes what has the name", c.Run(), "create configmaps a", "get configmaps a", "create configmaps a", "create configmaps b", "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}
