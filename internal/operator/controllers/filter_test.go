package controllers

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// TestFilterThatFailsChangesNothing has objects whose mode cannot be compared with a number.
func TestFilterThatFailsChangesNothing(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq .spec.mode 1`))
	c.KubectlApply(managedApp)
	c.Run()
	c.KubectlApply(with(t, managedApp, "mode: 1", "mode: x", "[a, b]", "[a, b, c]"))
	c.KubectlApply(with(t, managedApp, "mode: 1", "mode: x", "name: one", "name: two", "[a, b]", "[d]"))
	requests := c.Run()
	if got := strings.Join(requests, "; "); !strings.Contains(got, "create configmaps c") || strings.Contains(got, "configmaps d") || strings.Contains(got, "delete") {
		t.Errorf("requests %s; want that one stays a parent, and that two does not become one", got)
	}
	const want = "False FilterFailed: spec.watch.filter:1:1: eq: cannot compare a string with a number; int, float64 and toString convert; 2 objects are affected, such as ns/one: no object starts or stops being a parent until the filter is corrected"
	if got := c.Condition("templatecontrollers", "apps", "FilterEvaluated"); got != want {
		t.Errorf("condition\n%q, want\n%q", got, want)
	}
	c.start()
	for _, r := range c.Run() {
		if strings.HasPrefix(r, "delete") || strings.HasPrefix(r, "create") {
			t.Errorf("after a restart: %s", r)
		}
	}
	if got := c.controllers.get("apps").Parent(configMapName("one")); got == nil {
		t.Error("after a restart, a parent with children is none any more")
	}
	c.KubectlApply(with(t, managedApp, "mode: 1", "mode: 2"))
	wantRequests(t, "it stops matching", c.Run(), "get apps one", "delete configmaps a", "delete configmaps b", "delete configmaps c")
}
