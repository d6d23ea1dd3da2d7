package controllers

import (
	"strings"
	"testing"
)

const managed = "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one, annotations: {example.org/managed: 'yes'}}, spec: {names: [a, b], text: hello, mode: 1}}"

// filtering is apps with a filter.
func filtering(t *testing.T, filter string) string {
	t.Helper()
	return with(t, apps, "kind: App}", "kind: App, filter: '"+filter+"'}")
}

// TestFilterThatFailsChangesNothing has objects whose mode cannot be compared with a number.
func TestFilterThatFailsChangesNothing(t *testing.T) {
	c := newCluster(t)
	c.apply(filtering(t, `eq .spec.mode 1`))
	c.apply(managed)
	c.run()
	c.apply(with(t, managed, "mode: 1", "mode: x", "[a, b]", "[a, b, c]"))
	c.apply(with(t, managed, "mode: 1", "mode: x", "name: one", "name: two", "[a, b]", "[d]"))
	requests := c.run()
	if got := strings.Join(requests, "; "); !strings.Contains(got, "create configmaps c") || strings.Contains(got, "configmaps d") || strings.Contains(got, "delete") {
		t.Errorf("requests %s; want that one stays a parent, and that two does not become one", got)
	}
	const want = "False FilterFailed: spec.watch.filter:1:1: eq: cannot compare a string with a number; int, float64 and toString convert; 2 objects are affected, such as ns/one: no object starts or stops being a parent until the filter is corrected"
	if got := c.condition("templatecontrollers", "apps", "FilterEvaluated"); got != want {
		t.Errorf("condition\n%q, want\n%q", got, want)
	}
	c.start()
	for _, r := range c.run() {
		if strings.HasPrefix(r, "delete") || strings.HasPrefix(r, "create") {
			t.Errorf("after a restart: %s", r)
		}
	}
	if got := c.controllers.get("apps").Parent(configMapName("one")); got == nil {
		t.Error("after a restart, a parent with children is none any more")
	}
	c.apply(with(t, managed, "mode: 1", "mode: 2"))
	wantRequests(t, "it stops matching", c.run(), "get apps one", "delete configmaps a", "delete configmaps b", "delete configmaps c")
}
