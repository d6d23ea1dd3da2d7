package reconcile_test

import (
	"context"
	"testing"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

func TestParentThatMatchesAfterAllLosesNothing(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(frontOnly(t, apps))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	gone := c.Find("apps", "one").DeepCopy()
	gone.SetResourceVersion("1000") // the watch says that it has left, and will bring it again
	for want, cache := range c.Caches {
		if want.Role == watch.Parent {
			if err := cache.Delete(packed(t, gone)); err != nil {
				t.Fatal(err)
			}
		}
	}
	result, requests := c.Pass("apps", "one")
	wantRequests(t, "a parent that no watch shows", requests, "get apps one")
	if result.Retry != problem.RetrySoon {
		t.Errorf("retry %v, want %v", result.Retry, problem.RetrySoon)
	}
}

func TestNoWorkBeginsAtTheEnd(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.RunControllers()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.ParentQueue.Len() != 1 || c.Reconciler.Next(ctx, t.Context(), func() {}) || len(c.Requests) > 0 {
		t.Errorf("%d keys are left; requests %v", c.ParentQueue.Len(), c.Requests)
	}
}
