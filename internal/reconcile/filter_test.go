package reconcile_test

import (
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestOnlyObjectsThatTheFilterAdmitsAreParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq (index .metadata.annotations "example.org/managed") "yes"`))
	c.KubectlApply(with(t, reconciletest.ManagedApp, "'yes'", "'no'"))
	wantRequests(t, "it is no parent", c.Run())
	c.KubectlApply(reconciletest.ManagedApp)
	wantRequests(t, "it becomes one", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	_, requests := c.Pass("apps", "one")
	wantRequests(t, "again", requests)
	c.KubectlApply(with(t, reconciletest.ManagedApp, "'yes'", "'no'"))
	wantRequests(t, "it stops matching", c.Settle(), "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.Pass("apps", "one")
	wantRequests(t, "after that", requests)
	if _, requests = c.Pass("apps", "none"); len(requests) != 0 {
		t.Errorf("requests %v about an object that is not there", requests)
	}
}

func TestFilterReleasesByTheLiveObjectOnly(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq (index .metadata.annotations "example.org/managed") "yes"`))
	c.KubectlApply(reconciletest.ManagedApp)
	c.Run()
	c.KubectlApply(with(t, reconciletest.ManagedApp, "'yes'", "'no'"))
	c.Deliver()
	live := parse(t, reconciletest.ManagedApp)
	c.During = func() { c.Objects[locationOf(live)].SetAnnotations(live.GetAnnotations()) } // which no watch has brought yet
	_, requests := c.Pass("apps", "one")
	wantRequests(t, "the cache is behind", requests, "get apps one")
}
