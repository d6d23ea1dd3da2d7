package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// The finalizer comes before an object loses its owner, and goes after it has one again.
func TestFinalizerFollowsTheScope(t *testing.T) {
	from := strings.Index(tenants, "  - name: role")
	to := strings.Index(tenants, "  - name: maps")
	anywhere := with(t, tenants, tenants[from:to], "")
	near := with(t, anywhere, "scope: Cluster", "scope: Namespaced")
	c := begun(t, near, with(t, tenant, "space: far", "space: ns"))
	c.KubectlApply(anywhere)
	wantRequests(t, "Namespaced → Cluster", c.SettleWrites(), ownFinalizer, reconciletest.HoldParent, "update configmaps a")
	c.KubectlApply(with(t, anywhere, "scope: Cluster", "scope: Cluster\n    deletionPolicy: Orphan"))
	wantRequests(t, "it is to stay", c.SettleWrites(), "update configmaps a", releaseParent, givenUp)
	c.KubectlApply(anywhere)
	wantRequests(t, "it is to go", c.SettleWrites(), ownFinalizer, reconciletest.HoldParent, "update configmaps a")
	c.KubectlApply(near)
	wantRequests(t, "Cluster → Namespaced", c.SettleWrites(), "update configmaps a", releaseParent, givenUp)
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
			c.Refuse["team:robot: list apps everywhere"] = row.denied
			c.KubectlApply(with(t, both, "[ns, other]", "[ns]"))
			c.start()
			wantRequests(t, "the namespace is left while the operator is down", c.Run(), row.want...)
		})
	}
	t.Run("the server does not answer", func(t *testing.T) { // which says nothing of its permissions
		c := begun(t, both, bare)
		c.KubectlApply(with(t, both, "[ns, other]", "[ns]"))
		c.start()
		c.Refuse["team:robot: list apps everywhere"] = errors.New("no answer")
		c.goes()
		c.Settle()
		if c.Objects[appsController] == nil {
			t.Error("the TemplateController is deleted, and a parent keeps the finalizer")
		}
	})
}

// TestANamespaceIsNotLeftWhileItsParentsAreUnknown has the API server not answer for the kind of parents while a namespace is to be left.
func TestANamespaceIsNotLeftWhileItsParentsAreUnknown(t *testing.T) {
	in := func(namespaces string) string {
		return with(t, finalized(t), "kind: App}", "kind: App, namespaces: "+namespaces+"}\n  serviceAccountRef: {namespace: team, name: robot}")
	}
	c := newCluster(t)
	c.KubectlApply(in("[ns, other]"))
	c.Settle()
	c.Refuse["kind App"] = errors.New("no answer")
	c.KubectlApply(in("[other]"))
	c.Settle()
	left, _, err := unstructured.NestedStringSlice(c.Find("templatecontrollers", "apps").Object, "status", "childNamespaces")
	if err != nil || !slices.Contains(left, "ns") {
		t.Errorf("status.childNamespaces is %v (%v), want ns in it", left, err)
	}
}
