package reconcile_test

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// A watch ends every few minutes, and it is unknown when the next one is accepted.
func TestPausedWatchCausesNoDeletion(t *testing.T) {
	for why, role := range map[string]watch.Role{"the parents'": watch.Parent, "the children's": watch.Child, "the TemplateControllers'": watch.Controller} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, apps, app)
			var caches []*watch.Cache
			for want, cache := range c.Caches {
				if want.Role == role {
					cache.Paused()
					caches = append(caches, cache)
				}
			}
			c.KubectlApply(newApp(withChildren("a")))
			wantRequests(t, "meanwhile", c.Run(), "status apps one")
			for _, cache := range caches {
				cache.Watching()
			}
			if c.Queued() > 0 {
				t.Error("something is queued by the end of a watch")
			}
			if got := c.SettleWrites(); !slices.Contains(got, "delete configmaps b") {
				t.Errorf("afterwards: requests %q, want the deletion", got)
			}
		})
	}
}

func TestFailedWatchCausesNoDeletion(t *testing.T) {
	const red = "{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}"
	ns := request.Location{Resource: controller.Namespaces, Name: "ns"}
	fewer := func(c *cluster) { c.KubectlApply(newApp(withChildren("a"))) }
	blue := func(c *cluster) {
		c.KubectlEdit(ns, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "blue"}) })
	}
	for why, row := range map[string]struct {
		resource string
		change   func(*cluster)
		want     []string
	}{
		"the parents', and one yields less":               {"apps", fewer, []string{"delete configmaps b"}},
		"the Namespaces', and a parent yields less":       {"namespaces", fewer, []string{"delete configmaps b"}},
		"the TemplateControllers', and one yields less":   {"templatecontrollers", fewer, []string{"delete configmaps b"}},
		"the parents', and one has left":                  {"apps", blue, []string{"delete configmaps a", "delete configmaps b"}},
		"the Namespaces', and a parent has left":          {"namespaces", blue, []string{"delete configmaps a", "delete configmaps b"}},
		"the TemplateControllers', and a parent has left": {"templatecontrollers", blue, []string{"delete configmaps a", "delete configmaps b"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(red)
			c.KubectlApply(withWatch(t, apps, "namespaceSelector: {matchLabels: {team: red}}"))
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Run()
			c.FailWatches(row.resource, errors.New("no answer"))
			before := len(c.Requests)
			row.change(c)
			c.Run()
			for _, name := range []string{"a", "b"} {
				if slices.Contains(c.Requests[before:], "delete configmaps "+name) {
					t.Errorf("%s was deleted while the watch fails", name)
				}
			}
			c.FailWatches(row.resource, nil)
			c.Run()
			c.Clock.SetTime(c.Clock.Now().Add(2 * problem.SlowRetry))
			c.Run()
			for _, request := range row.want {
				if !slices.Contains(c.Requests[before:], request) {
					t.Errorf("after that no %q in %v", request, c.Requests[before:])
				}
			}
		})
	}
}

func TestStaleRelatedObjectsDoNotReplaceChildren(t *testing.T) {
	const replaced = "delete-foreground configmaps a"
	parent := newApp(withChildren("a"))
	c := begun(t, with(t, withStrategy(t, "Recreate"), "  watch:", "  related: [{name: gadgets, apiVersion: example.org/v1, kind: Gadget, select: '{name: seen}'}]\n  watch:"), parent)
	c.RemoveLabels("a")
	c.During = func() {
		if c.Requests[len(c.Requests)-1] == "get configmaps a" {
			c.FailWatches("gadgets", errors.New("no answer"))
		}
	}
	before := len(c.Requests)
	c.KubectlApply(with(t, parent, "hello", "bye"))
	if c.Run(); slices.Contains(c.Requests[before:], replaced) {
		t.Errorf("a was replaced though the watch has failed: %v", c.Requests[before:])
	}
	c.During = nil
	c.FailWatches("gadgets", nil)
	if c.Settle(); !slices.Contains(c.Requests[before:], replaced) {
		t.Errorf("a is not replaced once all is current again: %v", c.Requests[before:])
	}
}

func TestEditDuringReconciliationCancelsDeletion(t *testing.T) {
	c := begun(t, apps, newApp(withChildren("a", "b", "c")))
	c.KubectlApply(newApp(withChildren("c"), withText("bye")))
	edited := false
	c.During = func() {
		if !edited && c.Requests[len(c.Requests)-1] == "update configmaps c" {
			edited = true
			c.KubectlApply(newApp(withChildren("b", "c"), withText("bye")))
		}
	}
	before := len(c.Requests)
	c.Settle()
	if got := c.Requests[before:]; !edited || slices.Contains(got, "delete configmaps b") || !slices.Contains(got, "delete configmaps a") {
		t.Errorf("requests %v; want that b is kept, and a deleted", got)
	}
}

func TestDeletedParentGetsNoWrites(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlEdit(locationOf(parse(t, app)), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.End(locationOf(parse(t, app)), metav1.DeletePropagationBackground)
	c.RemoveNow(configMap("a"))
	wantRequests(t, "it goes, and so does a child", c.Run())
}

func TestUnsyncedParentWatchCausesNoWrites(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(frontOnly(t, apps))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	parents := watch.Want{Resource: locationOf(parse(t, app)).Resource, Labels: "tier=front", Role: watch.Parent}
	if c.Caches[parents] == nil {
		t.Fatalf("the parents are not watched by %v", parents)
	}
	c.Silent[parents] = true
	c.start()
	c.Run()
	_, requests := c.Reconcile("apps", "one") // it is unknown, but not missing
	wantRequests(t, "before the parents are read", requests)
	delete(c.Silent, parents)
	c.List(parents)
	wantRequests(t, "when they are", c.Run())
}

func TestUnreadableKindPreventsPruning(t *testing.T) {
	second := with(t, apps, "  status:\n", "  - name: more\n    template: |\n      {{ if .spec.more }}\n      apiVersion: example.org/v1\n      kind: Statusless\n      metadata: {name: s}\n      {{ end }}\n  status:\n")
	c := newCluster(t)
	c.KubectlApply(second)
	c.KubectlApply(with(t, app, "text: hello", "text: hello, more: true"))
	c.Run()
	c.Deliver()
	c.Run()
	if c.Find("statuslesses", "s") == nil {
		t.Fatal("there is no child of the second kind")
	}
	c.KubectlApply(app)
	for want, cache := range c.Caches {
		if want.Resource.Resource == "statuslesses" {
			cache.Fail(errors.New("no answer"))
		}
	}
	c.KubectlApply(newApp(withChildren("a")))
	for _, request := range c.Run() {
		if request == "delete configmaps b" {
			t.Error("a child was pruned though not all are known")
		}
	}
}

func TestReplacementOfDeletedChildIsKept(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.KubectlApply(newApp(withChildren("a")))
	c.Remove(configMap("b"))
	other := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: b}}")
	other.SetUID("uid-other")
	c.Store(configMap("b"), other) // not delivered by the watch
	wantRequests(t, "another object has the name", c.Run(), "delete configmaps b", "get configmaps b", "status apps one")
	if c.Find("configmaps", "b") == nil {
		t.Error("an object of somebody else was deleted")
	}
	if got := c.Condition("apps", "one", "Ready"); got[:5] != "True " {
		t.Errorf("ready condition %q, want none of a fault: what was to go is gone", got)
	}
	c.Deliver()
	c.Run()
	_, again := c.Reconcile("apps", "one")
	wantRequests(t, "again", again)
}

// A status for an older version of the parent would revert the changes of other clients since.
func TestStatusWriteRequiresCurrentResourceVersion(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.RemoveNow(configMap("b"))
	o := c.Find("apps", "one").DeepCopy()
	o.SetAnnotations(map[string]string{"new": "yes"})
	c.Store(locationOf(o), o) // not delivered by the watch
	c.Refuse["create configmaps b"] = errors.New("no answer")
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "the parent has changed", requests, "create configmaps b", "status apps one")
	if result.Retry == problem.RetryOnChange {
		t.Errorf("retry %v, want one that brings the status", result.Retry)
	}
	if got := c.Condition("apps", "one", "Ready"); got[:5] != "True " {
		t.Errorf("ready condition %q, want that of before", got)
	}
}
