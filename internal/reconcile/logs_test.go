package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// reporters writes the logs of all Pods in the namespace into the status of each App.
const reporters = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  resyncPeriod: 0s
  watch: {apiVersion: example.org/v1, kind: App}
  related:
  - name: pods
    apiVersion: v1
    kind: Pod
    logs: {tailLines: 5, limitBytes: 1024}
  status:
    template: |
      {{- range $pod := .related.pods }}
      {{ $pod.metadata.name }}:
        logs: {{ logs $pod | toJson }}
      {{- end }}
`

// logsIn is the status that shows logs, by Pod, of the container main.
func logsIn(texts map[string]any) map[string]any {
	out := map[string]any{}
	for pod, text := range texts {
		logs := map[string]any{}
		if text != nil {
			logs["main"] = text
		}
		out[pod] = map[string]any{"logs": logs}
	}
	return out
}

func (c *cluster) wantStatus(why string, want map[string]any) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.statusOf("one")); diff != "" {
		c.t.Errorf("%s: status (-want +got):\n%s", why, diff)
	}
}

func TestNoPassWaitsForALog(t *testing.T) {
	c := newCluster(t)
	c.logs.Set("ns/a/main", "no disk\n", nil)
	c.logs.Hold = make(chan struct{})
	c.apply(reconciletest.PodOf("a", "1", 3))
	c.apply(reporters)
	c.apply(app)
	wantRequests(t, "before the log is there", c.run(), "status apps one")
	close(c.logs.Hold)
	c.shared.logs.Wait()
	wantRequests(t, "when it has come", c.fetchLogs(), "status apps one")
	c.wantStatus("with the log", logsIn(map[string]any{"a": "no disk\n"}))
	if diff := cmp.Diff([]string{": ns/a/main 5 1024"}, c.logs.Take()); diff != "" {
		t.Errorf("requests for logs (-want +got):\n%s", diff)
	}
	c.deliver()
	wantRequests(t, "again", c.fetchLogs())
	_, again := c.pass("apps", "one")
	wantRequests(t, "one more pass", again)
	if asked := c.logs.Take(); len(asked) > 0 {
		t.Errorf("the log was asked for again: %q", asked)
	}
}

// An entry that says no more than that it wants logs gets what the API says.
func TestLogsAreAsLongAsTheAPISays(t *testing.T) {
	c := newCluster(t)
	c.logs.Set("ns/a/main", "x\n", nil)
	c.apply(reconciletest.PodOf("a", "1", 3))
	c.apply(with(t, reporters, "logs: {tailLines: 5, limitBytes: 1024}", "logs: {}"))
	c.apply(app)
	c.settleLogs()
	if diff := cmp.Diff([]string{": ns/a/main 20 4096"}, c.logs.Take()); diff != "" {
		t.Errorf("requests for logs (-want +got):\n%s", diff)
	}
}

func TestLogsFollowTheirContainers(t *testing.T) {
	c := newCluster(t)
	c.apply(reporters)
	c.apply(app)
	c.fetchLogs()
	for _, step := range []struct {
		what   string
		change func()
		want   map[string]any
		asked  int
	}{
		{"no Pod", func() {}, map[string]any{}, 0},
		{"a Pod fails", func() { c.logs.Set("ns/a/main", "first\n", nil); c.apply(reconciletest.PodOf("a", "1", 1)) }, map[string]any{"a": "first\n"}, 1},
		{"it runs again", func() { c.logs.Set("ns/a/main", "second\n", nil); c.replace(reconciletest.PodOf("a", "2", -1)) }, map[string]any{"a": "second\n"}, 1},
		{"it fails again", func() { c.logs.Set("ns/a/main", "third\n", nil); c.replace(reconciletest.PodOf("a", "2", 1)) }, map[string]any{"a": "third\n"}, 1},
		{"another one fails", func() { c.logs.Set("ns/b/main", "b\n", nil); c.apply(reconciletest.PodOf("b", "1", 1)) }, map[string]any{"a": "third\n", "b": "b\n"}, 1},
		{"the first is gone", func() { c.gone(podAt("a")) }, map[string]any{"b": "b\n"}, 0},
		{"one of its name comes", func() { c.logs.Set("ns/a/main", "new\n", nil); c.apply(reconciletest.PodOf("a", "3", 1)) }, map[string]any{"a": "new\n", "b": "b\n"}, 1},
	} {
		step.change()
		c.logs.Take()
		c.settleLogs()
		c.wantStatus(step.what, logsIn(step.want))
		if asked := c.logs.Take(); len(asked) != step.asked {
			t.Errorf("%s: logs were asked for %q, want %d times", step.what, asked, step.asked)
		}
	}
}

func TestALogIsFollowedWhateverFieldsAreWatched(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, reporters, "    kind: Pod\n", "    kind: Pod\n    watchFields: [metadata.labels]\n"))
	c.apply(app)
	c.logs.Set("ns/a/main", "first\n", nil)
	c.apply(reconciletest.PodOf("a", "1", 1))
	c.settleLogs()
	c.wantStatus("a container has ended", logsIn(map[string]any{"a": "first\n"}))
	c.logs.Set("ns/a/main", "second\n", nil)
	c.replace(reconciletest.PodOf("a", "2", 1))
	c.settleLogs()
	c.wantStatus("another run of it has ended", logsIn(map[string]any{"a": "second\n"}))
}

func TestOnlyPodsThatTheParentSeesHaveLogs(t *testing.T) {
	const refused = "False TemplateError: status:1:4: logs: the argument is not a Pod that an entry of spec.related with logs selects for this parent"
	c := newCluster(t)
	c.apply(reconciletest.PodOf("a", "1", 1))
	c.apply(strings.Replace(reconciletest.PodOf("far", "1", 1), "namespace: ns", "namespace: other", 1))
	c.apply(app)
	for call, want := range map[string]string{
		"logs .parent": refused,
		"logs .values": refused,
		`logs (dict "metadata" (dict "namespace" "other" "name" "far" "uid" "uid-far"))`: refused,
		`logs (dict "metadata" (dict "namespace" "ns" "name" "a" "uid" "other"))`:        refused,
		`logs (dict "metadata" (dict "namespace" "ns" "name" "a" "uid" "uid-a"))`:        "True Ready: all children are ready: 0",
		"logs (named \"none\" .related.pods)":                                            "True Ready: all children are ready: 0",
		"logs (first .related.other)":                                                    refused,
	} {
		c.apply(with(t, reporters, reporters[strings.Index(reporters, "      {{- range"):], "      {{ "+call+" | toJson }}\n",
			"  status:\n", "  - {name: other, apiVersion: v1, kind: Pod, select: '{namespace: other}'}\n  status:\n", "spec:\n", "spec:\n  values: {a: 1}\n"))
		c.settleLogs()
		if got := c.condition("apps", "one", "Ready"); got != want {
			t.Errorf("%s: the condition is %s, want %s", call, got, want)
		}
	}
}

// TestLogsAreThoseOfTheContainersThatThePodHas has a template make up containers of a Pod that the parent sees.
func TestLogsAreThoseOfTheContainersThatThePodHas(t *testing.T) {
	const call = `logs (dict "metadata" (dict "namespace" "ns" "name" "a" "uid" "uid-a") "status" (dict "containerStatuses" (list (dict "name" (repeat 1000 "x") "containerID" "1" "state" (dict "running" dict)))))`
	c := newCluster(t)
	c.logs.Set("ns/a/main", "text", nil)
	c.apply(reconciletest.PodOf("a", "1", 1))
	c.apply(app)
	c.apply(with(t, reporters, reporters[strings.Index(reporters, "      {{- range"):], "      {{ "+call+" | toJson }}\n"))
	c.settleLogs()
	c.wantStatus("of what is made up", map[string]any{"main": "text"})
	if diff := cmp.Diff([]string{": ns/a/main 5 1024"}, c.logs.Take()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// reporting is a cluster with an App whose status shows the log of a Pod.
func reporting(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	c.logs.Set("ns/a/main", "text\n", nil)
	for _, manifest := range []string{reconciletest.PodOf("a", "1", 1), reporters, app} {
		c.apply(manifest)
	}
	c.settleLogs()
	return c
}

// What nobody asks for is not kept: else it would not be asked for anew.
func TestLogsAreKeptForThoseWhoAsk(t *testing.T) {
	for what, row := range map[string]struct {
		change, back func(*testing.T, *cluster)
	}{
		"the parent is gone": {
			func(_ *testing.T, c *cluster) { c.gone(appAt("one")) }, func(_ *testing.T, c *cluster) { c.apply(app) },
		},
		"the template asks no more": {
			func(t *testing.T, c *cluster) { c.apply(with(t, reporters, "logs $pod | toJson", "1")) }, func(_ *testing.T, c *cluster) { c.apply(reporters) },
		},
		"the entry has no logs": {
			func(t *testing.T, c *cluster) {
				c.apply(with(t, reporters, "logs $pod | toJson", "1", "    logs: {tailLines: 5, limitBytes: 1024}\n", ""))
			},
			func(_ *testing.T, c *cluster) { c.apply(reporters) },
		},
		"the TemplateController is deleted": {
			func(_ *testing.T, c *cluster) { c.gone(controllerAt("apps")) }, func(_ *testing.T, c *cluster) { c.apply(reporters) },
		},
		"the account is another one": {
			func(t *testing.T, c *cluster) {
				c.apply(with(t, reporters, "kind: App}", "kind: App}\n  serviceAccountRef: {namespace: team, name: robot}"))
			},
			func(_ *testing.T, c *cluster) { c.apply(reporters) },
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := reporting(t)
			row.change(t, c)
			c.settleLogs()
			c.logs.Take()
			row.back(t, c)
			c.settleLogs()
			if asked := c.logs.Take(); len(asked) != 1 {
				t.Errorf("asked for %q, want once more", asked)
			}
		})
	}
}

// A template that fails for a moment costs no requests.
func TestLogsAreKeptWhileATemplateFails(t *testing.T) {
	c := reporting(t)
	c.logs.Take()
	c.apply(with(t, reporters, "      {{- range", "      {{ fail \"no\" }}\n      {{- range"))
	c.settleLogs()
	c.apply(reporters)
	c.settleLogs()
	if asked := c.logs.Take(); len(asked) > 0 {
		t.Errorf("asked for %q, want what was known", asked)
	}
}

// replace puts another version of an object in its place.
func (c *cluster) replace(text string) {
	c.t.Helper()
	o := parse(c.t, text)
	c.edit(locationOf(o), func(there *unstructured.Unstructured) { there.Object["status"] = o.Object["status"] })
}

func podAt(name string) request.Location {
	return request.Location{Resource: fakeKinds[schema.GroupKind{Kind: "Pod"}].Resource, Namespace: "ns", Name: name}
}

// TestAStatusThatFollowsOthersIsNoLoop has more Pods fail, one after the other, than passes may write in a row.
func TestAStatusThatFollowsOthersIsNoLoop(t *testing.T) {
	c := newCluster(t)
	c.apply(reporters)
	c.apply(app)
	c.settleLogs()
	for i := range loopBurst + 10 {
		name := fmt.Sprintf("a%d", i)
		c.logs.Set("ns/"+name+"/main", "no disk\n", nil)
		c.apply(reconciletest.PodOf(name, "1", 1))
		c.fetchLogs() // at once: time would allow for more passes
		c.deliver()
	}
	for i := range loopBurst + 10 { // logs that grow, of a container that runs
		c.logs.Set("ns/a0/main", fmt.Sprint("line ", i), nil)
		c.replace(reconciletest.PodOf("a0", fmt.Sprint(i+2), -1))
		c.fetchLogs()
		c.deliver()
	}
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True ") {
		t.Errorf("the ready condition is %s", got)
	}
	if got := len(c.statusOf("one")); got != loopBurst+10 {
		t.Errorf("the status shows %d Pods, want %d", got, loopBurst+10)
	}
}

// TestParentsThatReadEachOtherAreALoop has two parents count on from what the other one says.
func TestParentsThatReadEachOtherAreALoop(t *testing.T) {
	c := newCluster(t)
	c.restless = true
	c.apply(`
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
	c.apply(reader("ns", "one", "{other: two}"))
	c.apply(reader("ns", "two", "{other: one}"))
	for range 3 * loopBurst {
		c.run()
		c.deliver()
	}
	c.clock.SetTime(c.clock.Now().Add(loopPause))
	c.run()
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False LoopDetected: ") {
		t.Errorf("the ready condition is %s", got)
	}
}
