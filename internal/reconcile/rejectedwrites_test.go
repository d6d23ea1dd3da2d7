package reconcile_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestRejectedWritesAreReported(t *testing.T) {
	denied := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	const by = `denied by admission webhook "no.example.org"`
	hidden := func(c *cluster) { c.RemoveLabels("a") }
	missing := func(c *cluster) { c.RemoveNow(configMap("a")) }
	for why, row := range map[string]struct {
		strategy string
		change   func(*cluster)
		request  string
		err      error
		want     string
		retry    problem.Retry
	}{
		"a deletion": {
			"Apply", func(c *cluster) { c.KubectlApply(newApp(withChildren("a"))) }, "delete configmaps b", denied,
			"False ChildRejected: cannot delete ConfigMap ns/b: " + by, problem.RetryBackoff,
		},
		"the deletion of a child that is to be replaced and has lost its label": {
			"Recreate", func(c *cluster) {
				c.KubectlApply(newApp(withChildren("a")))
				c.Run()
				c.RemoveNow(configMap("b"))
				c.Run()
				c.RemoveLabels("a")
				c.KubectlApply(newApp(withChildren("a"), withText("bye")))
			}, "delete-foreground configmaps a", denied,
			"False ChildRejected: cannot delete ConfigMap ns/a: " + by, problem.RetryBackoff,
		},
		"a look at what is in the way": {
			"Apply", hidden, "get configmaps a", errors.New("no answer"),
			"False ChildRequestFailed: cannot create ConfigMap ns/a: the API server did not respond", problem.RetryBackoff,
		},
		"labels for a child that has lost them": {
			"OnDelete", hidden, "mark configmaps a", denied,
			"False ChildRejected: cannot create ConfigMap ns/a: " + by, problem.RetryBackoff,
		},
		"a child whose namespace does not exist": {
			"Apply", missing, "create configmaps a", apierrors.NewNotFound(corev1.Resource("namespaces"), "ns"),
			"False NamespaceNotFound: cannot create ConfigMap ns/a: its namespace does not exist; create the namespace, or change metadata.namespace in the template", problem.RetrySlower,
		},
		"a child that is said to exist, and is never there": {
			"Apply", missing, "create configmaps a", apierrors.NewAlreadyExists(corev1.Resource("configmaps"), "a"),
			"False ChildRejected: cannot create ConfigMap ns/a: the API server returned 409 AlreadyExists", problem.RetryBackoff,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withStrategy(t, row.strategy))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Refuse[row.request] = row.err
			row.change(c)
			result, requests := c.Reconcile("apps", "one")
			if !slices.Contains(requests, row.request) {
				t.Errorf("requests %v, want %q", requests, row.request)
			}
			if got := c.Condition("apps", "one", "Ready"); got != row.want || result.Retry != row.retry {
				t.Errorf("ready condition %q and retry %v, want %q and %v", got, result.Retry, row.want, row.retry)
			}
		})
	}
}

func TestFaultsOfDifferentChildrenAreNotMixed(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	one := newApp(withChildren("a"))
	fault := func(field, text string) string {
		c.Refuse["create configmaps a"] = refusal(http.StatusInternalServerError, "", field+": field not declared in schema")
		c.KubectlApply(with(t, one, "hello", text))
		c.Run()
		return c.Condition("apps", "one", "Ready")
	}
	const says = ": the schema has no such field"
	if got, want := fault(".data.text", "hello"), "False ChildRejected: cannot create ConfigMap ns/a: .data.text"+says; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	if got, want := fault(".data", "hello"), "False ChildRejected: cannot create ConfigMap ns/a: .data.text"+says+"; .data"+says; got != want {
		t.Errorf("another fault of the same child: ready condition %q, want %q", got, want)
	}
	if got, want := fault(".metadata.name", "bye"), "False ChildRejected: cannot create ConfigMap ns/a: .metadata.name"+says; got != want {
		t.Errorf("after a change of the parent: ready condition %q, want %q", got, want)
	}
}

func TestMetadataPatchesAreCounted(t *testing.T) {
	c, m := measured(t)
	c.KubectlApply(withStrategy(t, "CreateOnly"))
	c.KubectlApply(app)
	c.Run()
	c.RemoveLabels("a")
	m.Each["apps"].Counts = map[string]int{}
	c.Run()
	if got := m.Each["apps"].Counts["write 1 0"]; got != 1 {
		t.Errorf("%d updates are measured, want 1", got)
	}
}

func TestUnlabeledCreateOnlyChildIsNotOutdated(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withStrategy(t, "CreateOnly"))
	c.KubectlApply(app)
	c.Run()
	c.KubectlApply(newApp(withText("bye")))
	c.RemoveLabels("a")
	wantRequests(t, "its label is gone", c.Run(), "create configmaps a", "get configmaps a", "mark configmaps a", "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 2"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestInvalidQuantityIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "data: {text: {{ $.spec.text }}}", "spec: {limits: {cpu: {{ $.spec.text }}}}"))
	c.KubectlApply(app)
	c.Refuse["create configmaps a"] = refusal(http.StatusInternalServerError, metav1.StatusReasonUnknown, `unable to convert unstructured object to v1, Kind=ConfigMap: quantities must match the regular expression '^([+-]?[0-9.]+)$'`)
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "False ChildRejected: cannot create ConfigMap ns/a: .spec.limits.cpu: a resource quantity is not valid; write it as 250m, 2 or 64Mi"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

// A conflict response from a webhook looks like a conflict with a newer object until the object has been read.
func TestRejectedDeletionIsRetried(t *testing.T) {
	for why, row := range map[string]struct {
		get  error // error when the child is read after the conflict
		want string
	}{
		"the child is there still":        {nil, "False ChildRejected: cannot delete ConfigMap ns/a: "},
		"the server does not answer":      {errors.New("no answer"), "False ChildRejected: cannot delete ConfigMap ns/a: "},
		"the child may not be read":       {refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "no"), "False ChildRejected: cannot delete ConfigMap ns/a: "},
		"the child was deleted meanwhile": {notFound(configMap("a")), "True "},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, apps)
			c.Refuse["delete configmaps a"] = refusal(http.StatusConflict, metav1.StatusReasonConflict, "webhook")
			if row.get != nil {
				c.Refuse["get configmaps a"] = row.get
			}
			c.KubectlApply(newApp(withChildren("b")))
			c.Run()
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, row.want) {
				t.Errorf("ready condition %q, want %q", got, row.want)
			}
			if row.want == "True " {
				c.restless = true // the child exists
				return
			}
			clear(c.Refuse)
			c.Clock.SetTime(c.Clock.Now().Add(2 * problem.SlowRetry))
			c.Settle()
			if c.Find("configmaps", "a") != nil {
				t.Error("the child is not deleted once the server allows it")
			}
		})
	}
}
