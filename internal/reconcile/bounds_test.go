package reconcile_test

import (
	"context"
	"testing"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestParentThatMatchesAfterAllLosesNothing(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: front}}}"))
	c.apply(app)
	c.run()
	c.deliver()
	gone := c.get("apps", "one").DeepCopy()
	gone.SetResourceVersion("1000") // the watch says that it has left, and will bring it again
	for want, cache := range c.caches {
		if want.Role == watch.Parent {
			if err := cache.Delete(packed(t, gone)); err != nil {
				t.Fatal(err)
			}
		}
	}
	result, requests := c.pass("apps", "one")
	wantRequests(t, "a parent that no watch shows", requests, "get apps one")
	if result.Retry != problem.RetrySoon {
		t.Errorf("retry %v, want %v", result.Retry, problem.RetrySoon)
	}
}

func TestNoWorkBeginsAtTheEnd(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.runControllers()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.parentsDue.Len() != 1 || c.reconciler.Next(ctx, t.Context(), func() {}) || len(c.requests) > 0 {
		t.Errorf("%d keys are left; requests %v", c.parentsDue.Len(), c.requests)
	}
}
