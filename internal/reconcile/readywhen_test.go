package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// judged makes Jobs that are ready when an expression says so.
func judged(t *testing.T, expression string) string {
	t.Helper()
	return with(t, reconciletest.Jobs(t), "  - name: maps\n", "  - name: maps\n    readyWhen: '"+expression+"'\n")
}

func TestReadyWhenDecidesWhatIsReady(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(judged(t, `ge (.object.status.succeeded | default 0) .spec.enough`))
	c.KubectlApply(with(t, app, "text: hello", "text: hello, enough: 2"))
	wantRequests(t, "first pass", c.Run(), "create jobs a", "create jobs b", "status apps one")
	for _, step := range []struct{ a, b, ready, counts string }{
		{"{succeeded: 1, conditions: [{type: Complete, status: 'True'}]}", "{startTime: x, succeeded: 2}",
			"False Progressing: 1 of 2 children are ready: Job ns/a: readyWhen is not true yet", "total 1, ready 0, failed 0"},
		{"{conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]}", "{succeeded: 2}",
			"False ChildFailing: 1 of 2 children have failed: Job ns/a: failed (BackoffLimitExceeded)", "total 1, ready 0, failed 1"},
		{"{succeeded: 2, conditions: [{type: Failed, status: 'True'}]}", "{succeeded: 3}", "True Ready: all children are ready: 2", "total 1, ready 1, failed 0"},
	} {
		c.SetJobStatus("a", step.a)
		c.SetJobStatus("b", step.b)
		wantRequests(t, step.ready, c.Run(), "status apps one")
		if got := c.Condition("apps", "one", "Ready"); got != step.ready {
			t.Errorf("ready condition %q, want %q", got, step.ready)
		}
		if got := c.parentCounts(); got != step.counts {
			t.Errorf("counts: %s, want %s", got, step.counts)
		}
		_, again := c.Pass("apps", "one")
		wantRequests(t, "another pass", again)
	}
}

func TestReadyWhenThatCannotBeEvaluated(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(judged(t, `.object.status.done`))
	c.KubectlApply(app)
	wantRequests(t, "first pass", c.Run(), "create jobs a", "create jobs b", "status apps one")
	want := "children[maps].readyWhen:1:1: .object.status.done has no value, but must be true or false; compare it, or use default false"
	if got := c.Condition("apps", "one", "Ready"); got != "False TemplateError: "+want {
		t.Errorf("ready condition %q", got)
	}
	if diff := cmp.Diff([]string{"one Warning TemplateError: " + want}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	result, again := c.Pass("apps", "one")
	wantRequests(t, "another pass", again)
	if result.Outcome != record.Failed || result.Retry != problem.RetryOnChange {
		t.Errorf("result %+v: it waits for a change", result)
	}
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "what is no longer wanted goes all the same", c.Run(), "delete jobs b", "status apps one")
	c.SetJobStatus("a", "{done: "+secret+"}")
	c.Run()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False TemplateError: children[maps].readyWhen:1:1: .object.status.done is a string, but must be true or false; ") || strings.Contains(got, secret) {
		t.Errorf("ready condition %q", got)
	}
	c.SetJobStatus("a", "{done: true}")
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 1"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

// TestTheFunctionReadyDoesNotAskReadyWhen, which may itself call it.
func TestTheFunctionReadyDoesNotAskReadyWhen(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, judged(t, `and (ready .object) (eq .object.status.extra "yes")`), "len .children.maps", "ready (first .children.maps)"))
	c.KubectlApply(newApp(withChildren("a")))
	c.Run()
	for status, want := range map[string]string{
		"{conditions: [{type: Complete, status: 'True'}]}":               "False Progressing: 0 of 1 children are ready: Job ns/a: readyWhen is not true yet",
		"{extra: 'yes', conditions: [{type: Complete, status: 'True'}]}": "True Ready: all children are ready: 1",
	} {
		c.SetJobStatus("a", status)
		c.Run()
		if got := c.Condition("apps", "one", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		if got := c.Find("apps", "one").Object["status"].(map[string]any)["count"]; got != true {
			t.Errorf("the function ready yields %v, want true", got)
		}
	}
}
