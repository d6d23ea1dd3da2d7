package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The finalizer comes before an object loses its owner, and goes after it has one again.
func TestFinalizerFollowsTheScope(t *testing.T) {
	from := strings.Index(tenants, "  - name: role")
	to := strings.Index(tenants, "  - name: maps")
	anywhere := with(t, tenants, tenants[from:to], "")
	near := with(t, anywhere, "scope: Cluster", "scope: Namespaced")
	c := begun(t, near, with(t, tenant, "space: far", "space: ns"))
	c.apply(anywhere)
	wantRequests(t, "Namespaced → Cluster", c.writes(), ownFinalizer, parentHolds, "update configmaps a")
	c.apply(with(t, anywhere, "scope: Cluster", "scope: Cluster\n    deletionPolicy: Orphan"))
	wantRequests(t, "it is to stay", c.writes(), "update configmaps a", parentRelease, givenUp)
	c.apply(anywhere)
	wantRequests(t, "it is to go", c.writes(), ownFinalizer, parentHolds, "update configmaps a")
	c.apply(near)
	wantRequests(t, "Cluster → Namespaced", c.writes(), "update configmaps a", parentRelease, givenUp)
	if ref := metav1.GetControllerOf(c.Objects[configMap("a")]); ref == nil {
		t.Error("it has no owner")
	}
}

// Without children, nothing but the finalizer tells of a parent in a namespace that is watched no more.
func TestParentInANamespaceThatIsLeftLosesItsFinalizer(t *testing.T) {
	both := with(t, tenants, "kind: App}", "kind: App, namespaces: [ns, other]}\n  serviceAccountRef: {namespace: team, name: robot}")
	bare := with(t, tenant, "ns, name: one", "other, name: two", "names: [a], space: far, role: r", "names: []")
	for why, row := range map[string]struct {
		denied error // what the account gets for a list in all namespaces
		want   []string
	}{
		"the account may read all of them": {nil, []string{"team:robot: list apps everywhere", "team:robot: get apps two", "team:robot: finalizers[] apps two"}},
		"it may read those that it lists":  {denial(robot, "list", "apps", "at the cluster scope"), []string{"team:robot: list apps everywhere", "team:robot: list apps ns"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, both, bare)
			c.refuse["team:robot: list apps everywhere"] = row.denied
			c.apply(with(t, both, "[ns, other]", "[ns]"))
			c.start()
			wantRequests(t, "the namespace is left while the operator is down", c.run(), row.want...)
		})
	}
	t.Run("the server does not answer", func(t *testing.T) { // which says nothing of its permissions
		c := begun(t, both, bare)
		c.apply(with(t, both, "[ns, other]", "[ns]"))
		c.start()
		c.refuse["team:robot: list apps everywhere"] = errors.New("no answer")
		c.goes()
		c.settle()
		if c.Objects[appsController] == nil {
			t.Error("the TemplateController is deleted, and a parent keeps the finalizer")
		}
	})
}

// TestANamespaceIsNotLeftWhileItsParentsAreUnknown has the API server not answer for the kind of parents while a namespace is to be left.
func TestANamespaceIsNotLeftWhileItsParentsAreUnknown(t *testing.T) {
	in := func(namespaces string) string {
		return with(t, ordered(t), "kind: App}", "kind: App, namespaces: "+namespaces+"}\n  serviceAccountRef: {namespace: team, name: robot}")
	}
	c := newCluster(t)
	c.apply(in("[ns, other]"))
	c.settle()
	c.refuse["kind App"] = errors.New("no answer")
	c.apply(in("[other]"))
	c.settle()
	left, _, err := unstructured.NestedStringSlice(c.get("templatecontrollers", "apps").Object, "status", "childNamespaces")
	if err != nil || !slices.Contains(left, "ns") {
		t.Errorf("status.childNamespaces is %v (%v), want ns in it", left, err)
	}
}
