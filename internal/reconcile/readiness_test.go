package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

func TestJobIsReadyWhenComplete(t *testing.T) {
	const (
		complete = "{startTime: x, conditions: [{type: Complete, status: 'True'}]}"
		failed   = "{startTime: x, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: " + secret + "}]}"
	)
	c := newCluster(t)
	c.KubectlApply(reconciletest.Jobs(t))
	c.KubectlApply(app)
	c.Run()
	for _, step := range []struct{ a, b, ready, counts string }{
		{"", "", "False Progressing: 0 of 2 children are ready: Job ns/a: not started yet; Job ns/b: not started yet", "total 1, ready 0, failed 0"},
		{"{startTime: x, active: 1}", complete, "False Progressing: 1 of 2 children are ready: Job ns/a: running, 0 of 1 Pods have succeeded", "total 1, ready 0, failed 0"},
		{failed, complete, "False ChildFailing: 1 of 2 children have failed: Job ns/a: failed (BackoffLimitExceeded)", "total 1, ready 0, failed 1"},
		{complete, complete, "True Ready: all children are ready: 2", "total 1, ready 1, failed 0"},
	} {
		if step.a != "" {
			c.SetJobStatus("a", step.a)
			c.SetJobStatus("b", step.b)
		}
		c.Run()
		if got := c.Condition("apps", "one", "Ready"); got != step.ready {
			t.Errorf("ready condition %q, want %q", got, step.ready)
		}
		if got := c.parentCounts(); got != step.counts {
			t.Errorf("counts: %s, want %s", got, step.counts)
		}
		result, again := c.Reconcile("apps", "one")
		wantRequests(t, "another reconciliation", again)
		if result.Outcome != record.Succeeded || result.Retry != problem.RetryOnChange {
			t.Errorf("result %+v: templater has done its work", result)
		}
	}
	if diff := cmp.Diff([]string{"one Warning ChildFailing: 1 of 2 children have failed: Job ns/a: failed (BackoffLimitExceeded)"}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func TestThreeUnreadyChildrenAreNamed(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Jobs(t))
	c.KubectlApply(newApp(withChildren("a", "b", "c", "d", "e")))
	c.Run()
	c.SetJobStatus("b", "{conditions: [{type: Complete, status: 'True'}]}")
	c.Run()
	want := "False Progressing: 1 of 5 children are ready: Job ns/a: not started yet; Job ns/c: not started yet; Job ns/d: not started yet; and 1 more"
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestUndesiredObjectsDoNotAffectReadiness(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, reconciletest.Jobs(t), "prunePolicy: Orphan"))
	c.KubectlApply(app)
	c.Run()
	c.SetJobStatus("a", "{conditions: [{type: Complete, status: 'True'}]}")
	c.SetJobStatus("b", "{conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]}")
	c.KubectlApply(newApp(withChildren("c", "d")))
	c.Run()
	want := "False Progressing: 0 of 2 children are ready: Job ns/c: not started yet; Job ns/d: not started yet"
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.SetJobStatus("c", "{conditions: [{type: Complete, status: 'True'}]}")
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "False Progressing: 1 of 2 children are ready: Job ns/d: not started yet"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestChildFailureIsReportedAfterTemplateErrors(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Jobs(t))
	c.KubectlApply(app)
	c.Run()
	c.SetJobStatus("a", "{conditions: [{type: Failed, status: 'True'}]}")
	c.KubectlApply(withStatus(t, reconciletest.Jobs(t), "count: {{ .spec.none }}"))
	c.Run()
	got := c.Condition("apps", "one", "Ready")
	if !strings.HasPrefix(got, "False TemplateError: status:1:") || !strings.HasSuffix(got, "; 1 of 2 children have failed: Job ns/a: failed") {
		t.Errorf("ready condition %q: want both faults, that of the template first", got)
	}
}

// judged returns Jobs that are ready if an expression is true.
func judged(t *testing.T, expression string) string {
	t.Helper()
	return with(t, reconciletest.Jobs(t), "  - name: maps\n", "  - name: maps\n    readyWhen: '"+expression+"'\n")
}

func TestReadyWhenOverridesDefaultReadiness(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(judged(t, `ge (.object.status.succeeded | default 0) .spec.enough`))
	c.KubectlApply(with(t, app, "text: hello", "text: hello, enough: 2"))
	wantRequests(t, "first reconciliation", c.Run(), "create jobs a", "create jobs b", "status apps one")
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
		_, again := c.Reconcile("apps", "one")
		wantRequests(t, "another reconciliation", again)
	}
}

func TestReadyWhenErrorIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(judged(t, `.object.status.done`))
	c.KubectlApply(app)
	wantRequests(t, "first reconciliation", c.Run(), "create jobs a", "create jobs b", "status apps one")
	want := "children[maps].readyWhen:1:1: .object.status.done has no value, but must be a boolean; compare it, or use default false"
	if got := c.Condition("apps", "one", "Ready"); got != "False TemplateError: "+want {
		t.Errorf("ready condition %q", got)
	}
	if diff := cmp.Diff([]string{"one Warning TemplateError: " + want}, c.Events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	result, again := c.Reconcile("apps", "one")
	wantRequests(t, "another reconciliation", again)
	if result.Outcome != record.Failed || result.Retry != problem.RetryOnChange {
		t.Errorf("result %+v: it waits for a change", result)
	}
	c.KubectlApply(newApp(withChildren("a")))
	wantRequests(t, "what is no longer wanted goes all the same", c.Run(), "delete jobs b", "status apps one")
	c.SetJobStatus("a", "{done: "+secret+"}")
	c.Run()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False TemplateError: children[maps].readyWhen:1:1: .object.status.done is a string, but must be a boolean; ") || strings.Contains(got, secret) {
		t.Errorf("ready condition %q", got)
	}
	c.SetJobStatus("a", "{done: true}")
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 1"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

// TestReadyFunctionIgnoresReadyWhen: readyWhen may itself call the function, so it cannot depend on it.
func TestReadyFunctionIgnoresReadyWhen(t *testing.T) {
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
