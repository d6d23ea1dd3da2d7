package controllers

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/tally"
)

// named is "NAMESPACE/NAME REASON" of each.
func named(all []v1.FailingParent) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.Namespace+"/"+p.Name+" "+p.Reason)
	}
	return out
}

func TestSomeFailingParentsAreNamed(t *testing.T) {
	c := tally.New()
	set := func(failed bool, names ...string) {
		for _, name := range names {
			reason := ""
			if failed {
				reason = v1.ReasonTemplateError
			}
			c.Set(configMapName(name), &tally.Tally{Failed: failed, Reason: reason})
		}
	}
	expect := func(why string, before []v1.FailingParent, want ...string) []v1.FailingParent {
		t.Helper()
		got := c.Failing(before)
		if diff := cmp.Diff(want, named(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
		return got
	}
	set(false, "a", "b")
	before := expect("none", nil)
	set(true, "m", "l")
	before = expect("all of few, sorted", before, "ns/l TemplateError", "ns/m TemplateError")
	set(true, "g", "h", "i", "j", "k", "n")
	before = expect("those named before, and the first", before, "ns/g TemplateError", "ns/h TemplateError", "ns/i TemplateError", "ns/l TemplateError", "ns/m TemplateError")
	set(true, "a", "b")
	before = expect("others that fail change nothing", before, "ns/g TemplateError", "ns/h TemplateError", "ns/i TemplateError", "ns/l TemplateError", "ns/m TemplateError")
	set(false, "h")
	c.Set(configMapName("m"), nil)
	before = expect("what has recovered or gone makes room", before, "ns/a TemplateError", "ns/b TemplateError", "ns/g TemplateError", "ns/i TemplateError", "ns/l TemplateError")
	c.Set(configMapName("g"), &tally.Tally{Failed: true, Reason: v1.ReasonChildRejected})
	expect("a new reason is told", before, "ns/a TemplateError", "ns/b TemplateError", "ns/g ChildRejected", "ns/i TemplateError", "ns/l TemplateError")
}

func TestStatusNamesFailingParents(t *testing.T) {
	failing := func(c *cluster) string {
		c.controllers.queue.Add("apps")
		c.runControllers()
		list, _, _ := unstructured.NestedSlice(c.get("templatecontrollers", "apps").Object, "status", "failing")
		return fmt.Sprint(list)
	}
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.apply(with(t, app, "name: one", "name: two", "text: hello", "other: x", "[a, b]", "[c]"))
	c.settle()
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
	c.apply(with(t, app, "name: one", "name: two", "[a, b]", "[c]"))
	c.settle()
	if got, want := failing(c), "[]"; got != want {
		t.Errorf("failing after the correction: %s, want %s", got, want)
	}
}

func TestRejectedSpecFailsItsParents(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.settle()
	for _, step := range []struct{ why, spec, want string }{
		{"a broken edit", with(t, apps, "{{ range .spec.names }}", "{{ range .spec.names"), "total 1, ready 0, failed 1"},
		{"its correction", apps, "total 1, ready 1, failed 0"},
	} {
		c.apply(step.spec)
		c.settle()
		if got := c.parentCounts(); got != step.want {
			t.Errorf("%s: %s, want %s", step.why, got, step.want)
		}
	}
	c.apply(with(t, apps, "{{ range .spec.names }}", "{{ range .spec.names"))
	c.settle()
	c.start()
	c.settle()
	c.clock.SetTime(c.clock.Now().Add(2 * recountTime))
	if got, want := c.parentCounts(), "total 1, ready 0, failed 1"; got != want {
		t.Errorf("after a restart: %s, want %s", got, want)
	}
}
