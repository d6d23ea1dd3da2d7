package controllers

import (
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestChildThatGoesWithItsParentIsNotMissed(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	parent := c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.controllers.patience = time.Hour
	c.RemoveNow(configMap("a")) // the watch of children is ahead
	wantRequests(t, "the child is gone", c.Run())
	c.RemoveNow(locationOf(parent))
	wantRequests(t, "the parent is gone", c.Run())
	if c.Find("configmaps", "a") != nil {
		t.Error("the child was made again for a parent that is gone")
	}
}

// An API that is away keeps its objects, and after a restart nothing tells it from one that is gone for good.
func TestChildrenAreKeptWhileTheKindOfTheirParentsIsNotServed(t *testing.T) {
	for why, restart := range map[string]bool{"since a moment ago": false, "since before the start": true} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			parent := c.Objects[one]
			c.Refuse["kind App"] = &kind.NotFoundError{GVK: parse(t, app).GroupVersionKind()}
			delete(c.Objects, one)
			if restart {
				c.start()
			}
			c.controllers.queue.Add("apps")
			wantRequests(t, "it goes away", c.Settle())
			const want = "False KindNotFound: the cluster does not serve kind App in example.org/v1: install its CustomResourceDefinition or APIService, or correct spec.watch; until then, children are kept"
			if got := c.Condition("templatecontrollers", "apps", "Watching"); got != want {
				t.Errorf("condition %q, want %q", got, want)
			}
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			c.controllers.enqueueAll(c.controllers.get("apps"))
			wantRequests(t, "after a minute", c.Settle())
			delete(c.Refuse, "kind App")
			c.Objects[one] = parent
			c.controllers.queue.Add("apps")
			wantRequests(t, "it is back", c.Settle())
		})
	}
}
