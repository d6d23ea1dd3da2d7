package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestReconciliationDoesNotBlockOnLogs(t *testing.T) {
	c := newCluster(t)
	c.Logs.Set("ns/a/main", "no disk\n", nil)
	c.Logs.Hold = make(chan struct{})
	c.KubectlApply(reconciletest.PodOf("a", "1", 3))
	c.KubectlApply(reporters)
	c.KubectlApply(app)
	wantRequests(t, "before the log is there", c.Run(), "status apps one")
	close(c.Logs.Hold)
	c.LogFetcher.Wait()
	wantRequests(t, "when it has come", c.FetchLogs(), "status apps one")
	c.WantStatus("with the log", reconciletest.LogsStatus(map[string]any{"a": "no disk\n"}))
	if diff := cmp.Diff([]string{": ns/a/main 5 1024"}, c.Logs.Take()); diff != "" {
		t.Errorf("requests for logs (-want +got):\n%s", diff)
	}
	c.Deliver()
	wantRequests(t, "again", c.FetchLogs())
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "one more reconciliation", again)
	if asked := c.Logs.Take(); len(asked) > 0 {
		t.Errorf("the log was asked for again: %q", asked)
	}
}

// A related entry that only enables logs gets the defaults of the API.
func TestLogLimitsHaveDefaults(t *testing.T) {
	c := newCluster(t)
	c.Logs.Set("ns/a/main", "x\n", nil)
	c.KubectlApply(reconciletest.PodOf("a", "1", 3))
	c.KubectlApply(with(t, reporters, "logs: {tailLines: 5, limitBytes: 1024}", "logs: {}"))
	c.KubectlApply(app)
	c.SettleLogs()
	if diff := cmp.Diff([]string{": ns/a/main 20 4096"}, c.Logs.Take()); diff != "" {
		t.Errorf("requests for logs (-want +got):\n%s", diff)
	}
}

func TestLogsFollowTheirContainers(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reporters)
	c.KubectlApply(app)
	c.FetchLogs()
	for _, step := range []struct {
		what   string
		change func()
		want   map[string]any
		asked  int
	}{
		{"no Pod", func() {}, map[string]any{}, 0},
		{"a Pod fails", func() { c.Logs.Set("ns/a/main", "first\n", nil); c.KubectlApply(reconciletest.PodOf("a", "1", 1)) }, map[string]any{"a": "first\n"}, 1},
		{"it runs again", func() { c.Logs.Set("ns/a/main", "second\n", nil); c.ReplaceStatus(reconciletest.PodOf("a", "2", -1)) }, map[string]any{"a": "second\n"}, 1},
		{"it fails again", func() { c.Logs.Set("ns/a/main", "third\n", nil); c.ReplaceStatus(reconciletest.PodOf("a", "2", 1)) }, map[string]any{"a": "third\n"}, 1},
		{"another one fails", func() { c.Logs.Set("ns/b/main", "b\n", nil); c.KubectlApply(reconciletest.PodOf("b", "1", 1)) }, map[string]any{"a": "third\n", "b": "b\n"}, 1},
		{"the first is gone", func() { c.RemoveNow(podAt("a")) }, map[string]any{"b": "b\n"}, 0},
		{"one of its name comes", func() { c.Logs.Set("ns/a/main", "new\n", nil); c.KubectlApply(reconciletest.PodOf("a", "3", 1)) }, map[string]any{"a": "new\n", "b": "b\n"}, 1},
	} {
		step.change()
		c.Logs.Take()
		c.SettleLogs()
		c.WantStatus(step.what, reconciletest.LogsStatus(step.want))
		if asked := c.Logs.Take(); len(asked) != step.asked {
			t.Errorf("%s: logs were asked for %q, want %d times", step.what, asked, step.asked)
		}
	}
}

func TestWatchFieldsDoNotFilterLogChanges(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, reporters, "    kind: Pod\n", "    kind: Pod\n    watchFields: [metadata.labels]\n"))
	c.KubectlApply(app)
	c.Logs.Set("ns/a/main", "first\n", nil)
	c.KubectlApply(reconciletest.PodOf("a", "1", 1))
	c.SettleLogs()
	c.WantStatus("a container has ended", reconciletest.LogsStatus(map[string]any{"a": "first\n"}))
	c.Logs.Set("ns/a/main", "second\n", nil)
	c.ReplaceStatus(reconciletest.PodOf("a", "2", 1))
	c.SettleLogs()
	c.WantStatus("another run of it has ended", reconciletest.LogsStatus(map[string]any{"a": "second\n"}))
}

func TestOnlySelectedPodsHaveLogs(t *testing.T) {
	const refused = "False TemplateError: status:1:4: logs: the argument is not a Pod selected for this parent by a spec.related entry that sets logs"
	c := newCluster(t)
	c.KubectlApply(reconciletest.PodOf("a", "1", 1))
	c.KubectlApply(strings.Replace(reconciletest.PodOf("far", "1", 1), "namespace: ns", "namespace: other", 1))
	c.KubectlApply(app)
	for call, want := range map[string]string{
		"logs .parent": refused,
		"logs .values": refused,
		`logs (dict "metadata" (dict "namespace" "other" "name" "far" "uid" "uid-far"))`: refused,
		`logs (dict "metadata" (dict "namespace" "ns" "name" "a" "uid" "other"))`:        refused,
		`logs (dict "metadata" (dict "namespace" "ns" "name" "a" "uid" "uid-a"))`:        "True Ready: all children are ready: 0",
		"logs (named \"none\" .related.pods)":                                            "True Ready: all children are ready: 0",
		"logs (first .related.other)":                                                    refused,
	} {
		c.KubectlApply(with(t, reporters, reporters[strings.Index(reporters, "      {{- range"):], "      {{ "+call+" | toJson }}\n",
			"  status:\n", "  - {name: other, apiVersion: v1, kind: Pod, select: '{namespace: other}'}\n  status:\n", "spec:\n", "spec:\n  values: {a: 1}\n"))
		c.SettleLogs()
		if got := c.Condition("apps", "one", "Ready"); got != want {
			t.Errorf("%s: the condition is %s, want %s", call, got, want)
		}
	}
}

// TestOnlyExistingContainersHaveLogs has a template that invents containers of a related Pod.
func TestOnlyExistingContainersHaveLogs(t *testing.T) {
	const call = `logs (dict "metadata" (dict "namespace" "ns" "name" "a" "uid" "uid-a") "status" (dict "containerStatuses" (list (dict "name" (repeat 1000 "x") "containerID" "1" "state" (dict "running" dict)))))`
	c := newCluster(t)
	c.Logs.Set("ns/a/main", "text", nil)
	c.KubectlApply(reconciletest.PodOf("a", "1", 1))
	c.KubectlApply(app)
	c.KubectlApply(with(t, reporters, reporters[strings.Index(reporters, "      {{- range"):], "      {{ "+call+" | toJson }}\n"))
	c.SettleLogs()
	c.WantStatus("of what is made up", map[string]any{"main": "text"})
	if diff := cmp.Diff([]string{": ns/a/main 5 1024"}, c.Logs.Take()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// reporting returns a cluster with an App whose status shows the log of a Pod.
func reporting(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.Logs.Set("ns/a/main", "text\n", nil)
	for _, manifest := range []string{reconciletest.PodOf("a", "1", 1), reporters, app} {
		c.KubectlApply(manifest)
	}
	c.SettleLogs()
	return c
}

// Logs that are not requested are dropped: otherwise they would not be requested again.
func TestUnrequestedLogsAreDropped(t *testing.T) {
	for what, row := range map[string]struct {
		change, back func(*testing.T, *cluster)
	}{
		"the parent is gone": {
			func(_ *testing.T, c *cluster) { c.RemoveNow(reconciletest.AppAt("one")) }, func(_ *testing.T, c *cluster) { c.KubectlApply(app) },
		},
		"the template asks no more": {
			func(t *testing.T, c *cluster) { c.KubectlApply(with(t, reporters, "logs $pod | toJson", "1")) }, func(_ *testing.T, c *cluster) { c.KubectlApply(reporters) },
		},
		"the entry has no logs": {
			func(t *testing.T, c *cluster) {
				c.KubectlApply(with(t, reporters, "logs $pod | toJson", "1", "    logs: {tailLines: 5, limitBytes: 1024}\n", ""))
			},
			func(_ *testing.T, c *cluster) { c.KubectlApply(reporters) },
		},
		"the TemplateController is deleted": {
			func(_ *testing.T, c *cluster) { c.RemoveNow(reconciletest.ControllerAt("apps")) }, func(_ *testing.T, c *cluster) { c.KubectlApply(reporters) },
		},
		"the account is another one": {
			func(t *testing.T, c *cluster) {
				c.KubectlApply(with(t, reporters, "kind: App}", "kind: App}\n  serviceAccountRef: {namespace: team, name: robot}"))
			},
			func(_ *testing.T, c *cluster) { c.KubectlApply(reporters) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := reporting(t)
			row.change(t, c)
			c.SettleLogs()
			c.Logs.Take()
			row.back(t, c)
			c.SettleLogs()
			if asked := c.Logs.Take(); len(asked) != 1 {
				t.Errorf("asked for %q, want once more", asked)
			}
		})
	}
}

// A template that fails temporarily causes no requests.
func TestLogsAreKeptWhileTemplateFails(t *testing.T) {
	c := reporting(t)
	c.Logs.Take()
	c.KubectlApply(with(t, reporters, "      {{- range", "      {{ fail \"no\" }}\n      {{- range"))
	c.SettleLogs()
	c.KubectlApply(reporters)
	c.SettleLogs()
	if asked := c.Logs.Take(); len(asked) > 0 {
		t.Errorf("asked for %q, want what was known", asked)
	}
}

func podAt(name string) request.Location {
	return request.Location{Resource: reconciletest.Kinds[schema.GroupKind{Kind: "Pod"}].Resource, Namespace: "ns", Name: name}
}

// TestStatusFollowingOtherObjectsIsNotReportedAsLoop makes more Pods fail, one after the other, than the number of consecutive writes that is
// allowed.
func TestStatusFollowingOtherObjectsIsNotReportedAsLoop(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reporters)
	c.KubectlApply(app)
	c.SettleLogs()
	for i := range loopBurst + 10 {
		name := fmt.Sprintf("a%d", i)
		c.Logs.Set("ns/"+name+"/main", "no disk\n", nil)
		c.KubectlApply(reconciletest.PodOf(name, "1", 1))
		c.FetchLogs() // immediately: over time, more reconciliations would be allowed
		c.Deliver()
	}
	for i := range loopBurst + 10 { // growing logs of a running container
		c.Logs.Set("ns/a0/main", fmt.Sprint("line ", i), nil)
		c.ReplaceStatus(reconciletest.PodOf("a0", fmt.Sprint(i+2), -1))
		c.FetchLogs()
		c.Deliver()
	}
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True ") {
		t.Errorf("the ready condition is %s", got)
	}
	if got := len(c.StatusOf("one")); got != loopBurst+10 {
		t.Errorf("the status shows %d Pods, want %d", got, loopBurst+10)
	}
}

// TestParentsReadingEachOtherAreReportedAsLoop has two parents that each increment the value in the other one's status.
func TestParentsReadingEachOtherAreReportedAsLoop(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.KubectlApply(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  related: [{name: others, apiVersion: example.org/v1, kind: App, select: "name: {{ .spec.other }}"}]
  status:
    template: |
      count: {{ (first .related.others).status.count | default 0 | add 1 }}
`)
	c.KubectlApply(reader("ns", "one", "{other: two}"))
	c.KubectlApply(reader("ns", "two", "{other: one}"))
	for range 3 * loopBurst {
		c.Run()
		c.Deliver()
	}
	c.Clock.SetTime(c.Clock.Now().Add(loopPause))
	c.Run()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False LoopDetected: ") {
		t.Errorf("the ready condition is %s", got)
	}
}
