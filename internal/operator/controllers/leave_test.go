package controllers

import (
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestChildThatGoesWithItsParentIsNotMissed(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	parent := c.apply(app)
	c.run()
	c.deliver()
	c.controllers.patience = time.Hour
	c.gone(configMap("a")) // the watch of children is ahead
	wantRequests(t, "the child is gone", c.run())
	c.gone(locationOf(parent))
	wantRequests(t, "the parent is gone", c.run())
	if c.get("configmaps", "a") != nil {
		t.Error("the child was made again for a parent that is gone")
	}
}

// An API that is away keeps its objects, and after a restart nothing tells it from one that is gone for good.
func TestChildrenAreKeptWhileTheKindOfTheirParentsIsNotServed(t *testing.T) {
	for why, restart := range map[string]bool{"since a moment ago": false, "since before the start": true} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			parent := c.Objects[one]
			c.refuse["kind App"] = &kind.NotFoundError{GVK: parse(t, app).GroupVersionKind()}
			delete(c.Objects, one)
			if restart {
				c.start()
			}
			c.controllers.queue.Add("apps")
			wantRequests(t, "it goes away", c.settle())
			const want = "False KindNotFound: the cluster does not serve kind App in example.org/v1: install its CustomResourceDefinition or APIService, or correct spec.watch; until then, children are kept"
			if got := c.condition("templatecontrollers", "apps", "Watching"); got != want {
				t.Errorf("condition %q, want %q", got, want)
			}
			c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
			c.controllers.enqueueAll(c.controllers.get("apps"))
			wantRequests(t, "after a minute", c.settle())
			delete(c.refuse, "kind App")
			c.Objects[one] = parent
			c.controllers.queue.Add("apps")
			wantRequests(t, "it is back", c.settle())
		})
	}
}
