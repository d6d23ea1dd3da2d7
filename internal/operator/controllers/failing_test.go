package controllers

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestStatusNamesFailingParents(t *testing.T) {
	failing := func(c *cluster) string {
		c.controllers.queue.Add("apps")
		c.RunControllers()
		list, _, _ := unstructured.NestedSlice(c.Find("templatecontrollers", "apps").Object, "status", "failing")
		return fmt.Sprint(list)
	}
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.KubectlApply(with(t, app, "name: one", "name: two", "text: hello", "other: x", "[a, b]", "[c]"))
	c.Settle()
	if got, want := failing(c), "[map[name:two namespace:ns reason:TemplateError]]"; got != want {
		t.Errorf("failing: %s, want %s", got, want)
	}
	c.start()
	c.controllers.queue.Add("apps")
	c.controllers.parents.ShutDown() // no parent has been looked at yet
	if got, want := failing(c), "[map[name:two namespace:ns reason:TemplateError]]"; got != want {
		t.Errorf("failing right after a restart: %s, want %s", got, want)
	}
	c.start()
	c.KubectlApply(newApp(withName("two"), withChildren("c")))
	c.Settle()
	if got, want := failing(c), "[]"; got != want {
		t.Errorf("failing after the correction: %s, want %s", got, want)
	}
}

func TestRejectedSpecFailsItsParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	for _, step := range []struct{ why, spec, want string }{
		{"a broken edit", invalid(t, apps), "total 1, ready 0, failed 1"},
		{"its correction", apps, "total 1, ready 1, failed 0"},
	} {
		c.KubectlApply(step.spec)
		c.Settle()
		if got := c.parentCounts(); got != step.want {
			t.Errorf("%s: %s, want %s", step.why, got, step.want)
		}
	}
	c.KubectlApply(invalid(t, apps))
	c.Settle()
	c.start()
	c.Settle()
	c.Clock.SetTime(c.Clock.Now().Add(2 * recountTime))
	if got, want := c.parentCounts(), "total 1, ready 0, failed 1"; got != want {
		t.Errorf("after a restart: %s, want %s", got, want)
	}
}
