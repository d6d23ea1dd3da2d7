package reconcile

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStatusThatTheServerRefusesIsReported(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.refuse["status apps one"] = answer(http.StatusInternalServerError, "", ".status.count: field not declared in schema")
	c.run()
	want := "one Warning StatusRejected: cannot write the status: .status.count: the schema has no such field"
	if diff := cmp.Diff([]string{want}, c.events); diff != "" {
		t.Errorf("Events (-want +got):\n%s", diff)
	}
	result, _ := c.pass("apps", "one")
	if result.Retry != RetryBackoff || len(c.events) != 1 {
		t.Errorf("retry %v with Events %v; want RetryBackoff, and the Event once", result.Retry, c.events)
	}
}

func TestParentsWithoutRoomForConditions(t *testing.T) {
	controller := with(t, apps, "kind: App", "kind: Statusless", "  status:\n    template: |\n      count: {{ len .children.maps }}\n", "")
	c := newCluster(t)
	c.apply(controller)
	c.apply(with(t, app, "kind: App", "kind: Statusless"))
	wantRequests(t, "no status subresource", c.run(), "create configmaps a", "create configmaps b")
	if got, want := c.condition("templatecontrollers", "apps", "StatusWritable"), `False NoStatusSubresource: Statusless has no status subresource: the ready condition is left out; add "subresources: {status: {}}" to its CustomResourceDefinition`; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	c.apply(with(t, controller, "  children:\n", "  status: {template: \"a: 1\"}\n  children:\n"))
	c.run()
	if got, want := c.condition("templatecontrollers", "apps", "Accepted"), `False NoStatusSubresource: spec.status.template: Statusless has no status subresource: add "subresources: {status: {}}" to version v1 of its CustomResourceDefinition`; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestConditionOfAnotherManagerIsLeftAlone(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	foreign := c.apply(app)
	foreign.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "Unknown"}}}
	own(foreign, "other", "status", map[string]any{"f:status": map[string]any{"f:conditions": map[string]any{`k:{"type":"Ready"}`: map[string]any{"f:status": map[string]any{}}}}})
	c.store(locationOf(foreign), foreign)
	c.deliver()
	c.run()
	status := c.get("apps", "one").Object["status"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"count": int64(2)}, status); diff != "" {
		t.Errorf("what was applied (-want +got):\n%s", diff)
	}
	c.controllers.queue.Add("apps")
	c.run()
	if got, want := c.condition("templatecontrollers", "apps", "StatusWritable"), "False ConditionOwned: another manager owns the condition Ready of 1 parents, where it is left alone: give spec.status.readyCondition another type"; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	version := c.version
	c.start()
	c.run()
	if c.version != version {
		t.Error("an operator that has just begun writes that it does not know of the other manager yet")
	}
}
