package reconcile_test

import (
	"testing"
)

const managed = "{apiVersion: example.org/v1, kind: App, metadata: {namespace: ns, name: one, annotations: {example.org/managed: 'yes'}}, spec: {names: [a, b], text: hello, mode: 1}}"

// filtering is apps with a filter.
func filtering(t *testing.T, filter string) string {
	t.Helper()
	return with(t, apps, "kind: App}", "kind: App, filter: '"+filter+"'}")
}

func TestOnlyObjectsThatTheFilterAdmitsAreParents(t *testing.T) {
	c := newCluster(t)
	c.apply(filtering(t, `eq (index .metadata.annotations "example.org/managed") "yes"`))
	c.apply(with(t, managed, "'yes'", "'no'"))
	wantRequests(t, "it is no parent", c.run())
	c.apply(managed)
	wantRequests(t, "it becomes one", c.run(), "create configmaps a", "create configmaps b", "status apps one")
	_, requests := c.pass("apps", "one")
	wantRequests(t, "again", requests)
	c.apply(with(t, managed, "'yes'", "'no'"))
	wantRequests(t, "it stops matching", c.settle(), "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.pass("apps", "one")
	wantRequests(t, "after that", requests)
	if _, requests = c.pass("apps", "none"); len(requests) != 0 {
		t.Errorf("requests %v about an object that is not there", requests)
	}
}

func TestFilterReleasesByTheLiveObjectOnly(t *testing.T) {
	c := newCluster(t)
	c.apply(filtering(t, `eq (index .metadata.annotations "example.org/managed") "yes"`))
	c.apply(managed)
	c.run()
	c.apply(with(t, managed, "'yes'", "'no'"))
	c.deliver()
	live := parse(t, managed)
	c.during = func() { c.Objects[locationOf(live)].SetAnnotations(live.GetAnnotations()) } // which no watch has brought yet
	_, requests := c.pass("apps", "one")
	wantRequests(t, "the cache is behind", requests, "get apps one")
}
