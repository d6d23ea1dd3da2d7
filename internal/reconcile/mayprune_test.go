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

// fail has the watches of a resource fail, or work again.
func (c *cluster) fail(resource string, err error) {
	for want, cache := range c.caches {
		if want.Resource.Resource == resource && want.Role != watch.Child {
			if cache.Fail(err); err == nil {
				resumed(c.t, cache)
			}
		}
	}
}

// A watch ends every few minutes, and nothing says when the next one is accepted.
func TestNothingIsDeletedWhileAWatchIsBetweenTwoRequests(t *testing.T) {
	for why, role := range map[string]watch.Role{"the parents'": watch.Parent, "the children's": watch.Child, "the TemplateControllers'": watch.Controller} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, apps, app)
			var caches []*watch.Cache
			for want, cache := range c.caches {
				if want.Role == role {
					cache.Paused()
					caches = append(caches, cache)
				}
			}
			c.apply(with(t, app, "[a, b]", "[a]"))
			wantRequests(t, "meanwhile", c.run(), "status apps one")
			for _, cache := range caches {
				cache.Watching()
			}
			if c.controllers.queue.Len()+c.parentsDue.Len() > 0 {
				t.Error("something is queued by the end of a watch")
			}
			if got := c.writes(); !slices.Contains(got, "delete configmaps b") {
				t.Errorf("afterwards: requests %q, want the deletion", got)
			}
		})
	}
}

func TestNothingIsDeletedByWhatAFailedWatchShows(t *testing.T) {
	const red = "{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}"
	ns := request.Location{Resource: running.Namespaces, Name: "ns"}
	fewer := func(t *testing.T, c *cluster) { c.apply(with(t, app, "[a, b]", "[a]")) }
	blue := func(_ *testing.T, c *cluster) {
		c.edit(ns, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "blue"}) })
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
			c.apply(red)
			c.apply(with(t, apps, "kind: App}", "kind: App, namespaceSelector: {matchLabels: {team: red}}}"))
			c.apply(app)
			c.run()
			c.deliver()
			c.run()
			c.fail(row.resource, errors.New("no answer"))
			before := len(c.requests)
			row.change(t, c)
			c.run()
			for _, name := range []string{"a", "b"} {
				if slices.Contains(c.requests[before:], "delete configmaps "+name) {
					t.Errorf("%s was deleted while the watch fails", name)
				}
			}
			c.fail(row.resource, nil)
			c.run()
			c.clock.SetTime(c.clock.Now().Add(2 * problem.SlowRetry))
			c.run()
			for _, request := range row.want {
				if !slices.Contains(c.requests[before:], request) {
					t.Errorf("after that no %q in %v", request, c.requests[before:])
				}
			}
		})
	}
}

func TestNothingHiddenIsReplacedByOldRelatedObjects(t *testing.T) {
	const replaced = "delete-foreground configmaps a"
	parent := with(t, app, "[a, b]", "[a]")
	c := begun(t, with(t, under(t, "Recreate"), "  watch:", "  related: [{name: gadgets, apiVersion: example.org/v1, kind: Gadget, select: '{name: seen}'}]\n  watch:"), parent)
	c.hide("a")
	c.during = func() {
		if c.requests[len(c.requests)-1] == "get configmaps a" {
			c.fail("gadgets", errors.New("no answer"))
		}
	}
	before := len(c.requests)
	c.apply(with(t, parent, "hello", "bye"))
	if c.run(); slices.Contains(c.requests[before:], replaced) {
		t.Errorf("a was replaced though the watch has failed: %v", c.requests[before:])
	}
	c.during = nil
	c.fail("gadgets", nil)
	if c.settle(); !slices.Contains(c.requests[before:], replaced) {
		t.Errorf("a is not replaced once all is current again: %v", c.requests[before:])
	}
}

func TestAnEditDuringAReconciliationEndsItsDecisionToDelete(t *testing.T) {
	c := begun(t, apps, with(t, app, "[a, b]", "[a, b, c]"))
	c.apply(with(t, app, "[a, b]", "[c]", "hello", "bye"))
	edited := false
	c.during = func() {
		if !edited && c.requests[len(c.requests)-1] == "update configmaps c" {
			edited = true
			c.apply(with(t, app, "[a, b]", "[b, c]", "hello", "bye"))
		}
	}
	before := len(c.requests)
	c.settle()
	if got := c.requests[before:]; !edited || slices.Contains(got, "delete configmaps b") || !slices.Contains(got, "delete configmaps a") {
		t.Errorf("requests %v; want that b is kept, and a deleted", got)
	}
}
