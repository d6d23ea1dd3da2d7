package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestTemplateControllerDeletionWithCrossNamespaceChildren(t *testing.T) {
	t.Run("Orphan leaves them", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.startDeletion()
		wantRequests(t, "deleted", c.SettleWrites(), "status apps one", releaseParent, givenUp)
		c.KubectlApply(tenants)
		wantRequests(t, "another one of that name takes them up", c.SettleWrites(), ownFinalizer, reconciletest.HoldParent, "status apps one")
		c.WantQuiet("they are its own")
	})
	t.Run("Delete takes them, but for those that say otherwise", func(t *testing.T) {
		c := begun(t, with(t, withSpec(t, tenants, "whenDeleted: DeleteChildren"), "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), tenant)
		c.startDeletion()
		wantRequests(t, "deleted", c.SettleWrites(), "status apps one", releaseParent, "delete configmaps a", givenUp)
	})
	for policy, want := range map[string][]string{"Orphan": {"delete configmaps a"}, "Delete": {"delete configmaps a", "delete clusterroles r"}} {
		t.Run("Delete goes by what an object says, where its entry is gone: "+policy, func(t *testing.T) {
			spec := withSpec(t, tenants, "whenDeleted: DeleteChildren")
			c := begun(t, with(t, spec, "- name: role\n", "- name: role\n    deletionPolicy: "+policy+"\n"), tenant)
			from, to := strings.Index(spec, "  - name: role"), strings.Index(spec, "  - name: maps")
			c.KubectlApply(with(t, spec, spec[from:to], "", "{{ $.spec.text }}", "{{ fail \"x\" }}"))
			wantRequests(t, "a template fails, so that nothing is pruned", c.Run(), "status apps one")
			c.startDeletion()
			wantRequests(t, "deleted", c.SettleWrites(), slices.Concat([]string{"status apps one", releaseParent}, want, []string{givenUp})...)
		})
	}
}

// A deleted TemplateController leaves its children, and is recreated for another kind of parents. None of these has the
// name of the original parent.
func TestChildrenOfAnotherParentKindAreKept(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.startDeletion()
	c.Settle()
	c.RemoveNow(appsController)
	c.Settle()
	c.KubectlApply(with(t, tenants, "kind: App}", "kind: Gadget}"))
	c.KubectlApply(with(t, tenant, "kind: App", "kind: Gadget", "name: one", "name: two", "role: r", "role: s", "names: [a]", "names: [b]"))
	c.Settle()
	c.Clock.SetTime(c.Clock.Now().Add(2 * queue.CollectorTime))
	c.Settle()
	if c.Objects[reconciletest.ClusterRole] == nil || c.Objects[reconciletest.FarMap("a")] == nil {
		t.Error("a child was deleted")
	}
}

// everywhere reports whether the controller reads its ConfigMaps in all namespaces.
func (c *cluster) everywhere() bool {
	return slices.ContainsFunc(c.Owned["apps"], func(want watch.Want) bool {
		return want.Resource == reconciletest.FarMap("").Resource && want.Namespace == ""
	})
}

// TestServiceAccountWithCrossNamespaceChildren changes the scope of a child template while the TemplateController is
// limited to one namespace: children in other namespaces are never lost.
func TestServiceAccountWithCrossNamespaceChildren(t *testing.T) {
	anywhere := with(t, tenants, "kind: App}", "kind: App, namespaces: [ns]}\n  serviceAccountRef: {namespace: team, name: robot}")
	near := with(t, anywhere, "name: maps\n    scope: Cluster", "name: maps")
	near = with(t, near, "name: role\n    scope: Cluster", "name: role", "with .spec.role", "with .spec.no")
	as := func(requests ...string) []string {
		for i, r := range requests {
			requests[i] = "team:robot: " + r
		}
		return requests
	}
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(anywhere)
			c.KubectlApply(tenant)
			wantRequests(t, "first reconciliation", c.SettleWrites(), append([]string{ownFinalizer}, as(reconciletest.HoldParent, "create clusterroles r", "create configmaps a", "status apps one")...)...)
			c.WantQuiet("first reconciliation")
			if !c.everywhere() {
				t.Errorf("it watches %v", c.Owned["apps"])
			}
			c.KubectlApply(near)
			c.KubectlApply(reconciletest.NewTenant(reconciletest.WithSpace("ns")))
			if restart {
				c.start()
			}
			c.Run()
			if c.Objects[reconciletest.FarMap("a")] != nil || c.Objects[reconciletest.ClusterRole] != nil || c.Objects[configMap("a")] == nil {
				t.Error("what is elsewhere is there still, or nothing is where it is to be")
			}
			if !c.everywhere() || !slices.Contains(c.Objects[one].GetFinalizers(), "finalize.templater.dev/apps") {
				t.Error("it does not see whether what it has deleted is gone")
			}
			wantRequests(t, "it is gone", c.SettleWrites(), append(as(releaseParent), givenUp)...)
			c.Clock.SetTime(c.Clock.Now().Add(permissions.CacheTTL))
			wantRequests(t, "nothing is left elsewhere", c.SettleWrites())
			if c.everywhere() {
				t.Errorf("it watches %v, want its own namespace alone", c.Owned["apps"])
			}
			c.WantQuiet("it watches less")
		})
	}
}

func TestNamespaceLimitAddedDuringDowntimeIsApplied(t *testing.T) {
	limited := asRobot(t)
	c := begun(t, with(t, limited, "namespaces: [ns]", "namespaces: []"), app, with(t, app, "namespace: ns, name: one", "namespace: far, name: far"))
	c.KubectlApply(limited)
	c.start()
	wantRequests(t, "start", c.Run(), "team:robot: get apps far", "team:robot: delete configmaps a", "team:robot: delete configmaps b")
	c.WantQuiet("start")
	c.Clock.SetTime(c.Clock.Now().Add(permissions.CacheTTL))
	c.Run()
	c.Clock.SetTime(c.Clock.Now().Add(permissions.CacheTTL))
	wantRequests(t, "nothing is left elsewhere", c.Run())
	for _, want := range c.Owned["apps"] {
		if want.Namespace != "ns" {
			t.Errorf("it watches %s still", want)
		}
	}
}

// The finalizer is added before an object loses its owner reference, and removed after it has one again.
func TestFinalizerFollowsChildScope(t *testing.T) {
	from := strings.Index(tenants, "  - name: role")
	to := strings.Index(tenants, "  - name: maps")
	anywhere := with(t, tenants, tenants[from:to], "")
	near := with(t, anywhere, "scope: Cluster", "scope: Namespaced")
	c := begun(t, near, reconciletest.NewTenant(reconciletest.WithSpace("ns")))
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

// Without children, only the finalizer shows that a parent exists in a namespace that is no longer watched.
func TestParentInDeselectedNamespaceLosesFinalizer(t *testing.T) {
	both := with(t, tenants, "kind: App}", "kind: App, namespaces: [ns, other]}\n  serviceAccountRef: {namespace: team, name: robot}")
	bare := with(t, tenant, "ns, name: one", "other, name: two", "names: [a], space: far, role: r", "names: []")
	for why, row := range map[string]struct {
		denied error // error for a cluster-wide list by the service account
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
	t.Run("the server does not answer", func(t *testing.T) { // says nothing about permissions
		c := begun(t, both, bare)
		c.KubectlApply(with(t, both, "[ns, other]", "[ns]"))
		c.start()
		c.Refuse["team:robot: list apps everywhere"] = errors.New("no answer")
		c.startDeletion()
		c.Settle()
		if c.Objects[appsController] == nil {
			t.Error("the TemplateController is deleted, and a parent keeps the finalizer")
		}
	})
}

// TestDeselectedNamespaceIsKeptUntilParentsAreListed: the API server does not respond for the kind of the parents while
// a namespace is being dropped.
func TestDeselectedNamespaceIsKeptUntilParentsAreListed(t *testing.T) {
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
