package reconcile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// jobs makes a Job for each of spec.names.
func jobs(t *testing.T) string {
	t.Helper()
	return with(t, apps, "apiVersion: v1\n      kind: ConfigMap", "apiVersion: batch/v1\n      kind: Job", "data: {text: {{ $.spec.text }}}", "spec: {}")
}

// report has the server say how a Job fares.
func (c *cluster) report(name, status string) {
	c.t.Helper()
	o := c.get("jobs", name).DeepCopy()
	o.Object["status"] = parse(c.t, "{kind: x, apiVersion: v1, status: "+status+"}").Object["status"]
	c.Store(locationOf(o), o)
	c.deliver()
}

func TestJobIsReadyWhenItIsDone(t *testing.T) {
	const (
		complete = "{startTime: x, conditions: [{type: Complete, status: 'True'}]}"
		failed   = "{startTime: x, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded, message: " + secret + "}]}"
	)
	c := newCluster(t)
	c.apply(jobs(t))
	c.apply(app)
	c.run()
	for _, step := range []struct{ a, b, ready, counts string }{
		{"", "", "False Progressing: 0 of 2 children are ready: Job ns/a: not started yet; Job ns/b: not started yet", "total 1, ready 0, failed 0"},
		{"{startTime: x, active: 1}", complete, "False Progressing: 1 of 2 children are ready: Job ns/a: running, 0 of 1 Pods have succeeded", "total 1, ready 0, failed 0"},
		{failed, complete, "False ChildFailing: 1 of 2 children have failed: Job ns/a: failed (BackoffLimitExceeded)", "total 1, ready 0, failed 1"},
		{complete, complete, "True Ready: all children are ready: 2", "total 1, ready 1, failed 0"},
	} {
		if step.a != "" {
			c.report("a", step.a)
			c.report("b", step.b)
		}
		c.run()
		if got := c.condition("apps", "one", "Ready"); got != step.ready {
			t.Errorf("ready condition %q, want %q", got, step.ready)
		}
		if got := c.parentCounts(); got != step.counts {
			t.Errorf("counts: %s, want %s", got, step.counts)
		}
		result, again := c.pass("apps", "one")
		wantRequests(t, "another pass", again)
		if result.Outcome != record.Succeeded || result.Retry != problem.RetryOnChange {
			t.Errorf("result %+v: templater has done its work", result)
		}
	}
	if diff := cmp.Diff([]string{"one Warning ChildFailing: 1 of 2 children have failed: Job ns/a: failed (BackoffLimitExceeded)"}, c.events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
}

func TestThreeThatAreNotReadyAreNamed(t *testing.T) {
	c := newCluster(t)
	c.apply(jobs(t))
	c.apply(with(t, app, "[a, b]", "[a, b, c, d, e]"))
	c.run()
	c.report("b", "{conditions: [{type: Complete, status: 'True'}]}")
	c.run()
	want := "False Progressing: 1 of 5 children are ready: Job ns/a: not started yet; Job ns/c: not started yet; Job ns/d: not started yet; and 1 more"
	if got := c.condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestObjectsThatAreNotWantedAreNeitherReadyNorFailing(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, jobs(t), "  - name: maps\n", "  - name: maps\n    prunePolicy: Orphan\n"))
	c.apply(app)
	c.run()
	c.report("a", "{conditions: [{type: Complete, status: 'True'}]}")
	c.report("b", "{conditions: [{type: Failed, status: 'True', reason: DeadlineExceeded}]}")
	c.apply(with(t, app, "[a, b]", "[c, d]"))
	c.run()
	want := "False Progressing: 0 of 2 children are ready: Job ns/c: not started yet; Job ns/d: not started yet"
	if got := c.condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.report("c", "{conditions: [{type: Complete, status: 'True'}]}")
	c.run()
	if got, want := c.condition("apps", "one", "Ready"), "False Progressing: 1 of 2 children are ready: Job ns/d: not started yet"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
}

func TestFailureOfAChildStandsBehindThoseOfTemplates(t *testing.T) {
	c := newCluster(t)
	c.apply(jobs(t))
	c.apply(app)
	c.run()
	c.report("a", "{conditions: [{type: Failed, status: 'True'}]}")
	c.apply(with(t, jobs(t), "count: {{ len .children.maps }}", "count: {{ .spec.none }}"))
	c.run()
	got := c.condition("apps", "one", "Ready")
	if !strings.HasPrefix(got, "False TemplateError: status:1:") || !strings.HasSuffix(got, "; 1 of 2 children have failed: Job ns/a: failed") {
		t.Errorf("ready condition %q: want both faults, that of the template first", got)
	}
}
