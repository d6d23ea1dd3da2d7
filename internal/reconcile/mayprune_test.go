package reconcile_test

import (
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// A watch ends every few minutes, and nothing says when the next one is accepted.
func TestNothingIsDeletedWhileAWatchIsBetweenTwoRequests(t *testing.T) {
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

func TestNothingIsDeletedByWhatAFailedWatchShows(t *testing.T) {
	const red = "{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}"
	ns := request.Location{Resource: running.Namespaces, Name: "ns"}
	fewer := func(t *testing.T, c *cluster) { c.KubectlApply(newApp(withChildren("a"))) }
	blue := func(_ *testing.T, c *cluster) {
		c.KubectlEdit(ns, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "blue"}) })
	}
	for why, row := range map[string]struct {
		resource string
		change   func(*testing.T, *cluster)
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
			row.change(t, c)
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

func TestNothingHiddenIsReplacedByOldRelatedObjects(t *testing.T) {
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

func TestAnEditDuringAReconciliationEndsItsDecisionToDelete(t *testing.T) {
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
