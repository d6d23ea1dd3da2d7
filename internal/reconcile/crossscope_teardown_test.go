package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// slow prevents the deletion of the ConfigMap "a" until the test calls letGo.
func (c *cluster) slow() {
	c.T.Helper()
	c.KubectlEdit(farMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.Settle()
}

func (c *cluster) letGo() {
	c.T.Helper()
	c.KubectlEdit(farMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
}

// TestParentWaitsForChildrenInOtherNamespaces deletes a parent, with other changes during the deletion.
func TestParentWaitsForChildrenInOtherNamespaces(t *testing.T) {
	entry := func(name string) string { // of tenants
		from := strings.Index(tenants, "  - name: "+name)
		if rest := strings.Index(tenants[from+4:], "  - name: "); rest >= 0 {
			return tenants[from : from+4+rest]
		}
		return tenants[from:]
	}
	for why, row := range map[string]struct {
		meanwhile func(*testing.T, *cluster)
		writes    []string // caused by the change
	}{
		"nothing else happens":     {func(*testing.T, *cluster) {}, nil},
		"the operator begins anew": {func(_ *testing.T, c *cluster) { c.start() }, nil},
		"the entries are gone": {func(t *testing.T, c *cluster) {
			c.KubectlApply(with(t, tenants, entry("role"), "", entry("maps"), "  status: {template: 'a: 1'}\n"))
		}, []string{"status apps one"}},
		"the entries are Namespaced": {func(_ *testing.T, c *cluster) {
			c.KubectlApply(strings.ReplaceAll(tenants, "scope: Cluster", "scope: Namespaced"))
		}, nil},
		"the entries say now: Orphan": {func(_ *testing.T, c *cluster) {
			c.KubectlApply(strings.ReplaceAll(tenants, "scope: Cluster", "scope: Cluster\n    deletionPolicy: Orphan"))
		}, nil},
		"the spec is broken":           {func(t *testing.T, c *cluster) { c.KubectlApply(with(t, tenants, "{{ end }}", "")) }, nil},
		"the kind of the child is new": {func(t *testing.T, c *cluster) { c.KubectlApply(with(t, tenants, "kind: ClusterRole", "kind: Nothing")) }, nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			c.slow()
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "deletion", c.SettleWrites(), "delete configmaps a", "delete clusterroles r", "status apps one", "status apps one")
			const waits = "False Finalizing: being deleted: waiting for its children to be deleted: ConfigMap far/a; if one is stuck, check its metadata.finalizers"
			if got := c.Condition("apps", "one", "Ready"); got != waits {
				t.Errorf("ready condition %q, want %q", got, waits)
			}
			row.meanwhile(t, c)
			wantRequests(t, why, c.SettleWrites(), row.writes...)
			c.letGo()
			got := c.SettleWrites()
			if c.Objects[one] != nil || !slices.Contains(got, releaseParent) {
				t.Errorf("when they are gone: %v, and the parent is %v", got, c.Objects[one])
			}
			if created := slices.IndexFunc(got, func(r string) bool { return strings.Contains(r, "create") }); created >= 0 {
				t.Errorf("something is made anew: %v", got)
			}
		})
	}
}

// A child is edited to name another parent, so this parent is not notified of its deletion.
func TestParentIsReleasedIfChildNamesAnotherParent(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.slow()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Settle()
	c.KubectlEdit(farMap("a"), func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		annotations[v1.AnnotationParent] = "ns/nobody"
		o.SetAnnotations(annotations)
	})
	c.Settle()
	c.letGo()
	c.Clock.SetTime(c.Clock.Now().Add(2 * problem.SlowRetry))
	wantRequests(t, "half a minute later", c.SettleWrites(), releaseParent)
}

func TestChildrenAreKeptOrDeletedWithParent(t *testing.T) {
	t.Run("objects of entries that say so", func(t *testing.T) {
		c := begun(t, with(t, tenants, "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), tenant)
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "deletion", c.SettleWrites(), "delete configmaps a", "status apps one", releaseParent)
		if c.Objects[clusterRole] == nil {
			t.Error("it is gone")
		}
	})
	t.Run("all, with --cascade=orphan", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.KubectlDelete(one, metav1.DeletePropagationOrphan)
		got := c.SettleWrites()
		if c.Objects[clusterRole] == nil || c.Objects[farMap("a")] == nil {
			t.Errorf("something is gone: %v", got)
		}
		for _, at := range []string{"clusterroles", "configmaps"} {
			for where, o := range c.Objects {
				if where.Resource.Resource == at && o.GetAnnotations()[v1.AnnotationDeletion] != "Orphan" {
					t.Errorf("%s %s does not say that it stays", at, where.Name)
				}
			}
		}
		wantRequests(t, "much later", c.SettleWrites())
	})
	t.Run("nothing for good, where an annotation has the parent go at once", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.KubectlEdit(one, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1.AnnotationSkipFinalize: "true"})
		})
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "deletion", c.SettleWrites(), releaseParent, "delete configmaps a", "delete clusterroles r")
	})
	t.Run("all, while it is suspended", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.KubectlApply(withSpec(t, tenants, "suspend: true"))
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "deletion", c.SettleWrites())
		c.KubectlApply(tenants)
		wantRequests(t, "it is suspended no more", c.SettleWrites(), "delete configmaps a", "delete clusterroles r", "status apps one", releaseParent)
	})
}

func TestRemovedFinalizerIsRestored(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	wantRequests(t, "the parent is there", c.SettleWrites(), reconciletest.HoldParent)
	c.KubectlDelete(one, metav1.DeletePropagationForeground)
	wantRequests(t, "it is deleted in the foreground", c.SettleWrites(), "delete configmaps a", "delete clusterroles r", "status apps one", "finalizers[foregroundDeletion] apps one")
	wantRequests(t, "the rest is for the garbage collector", c.SettleWrites())
	if c.Objects[one] != nil {
		t.Error("the parent is there still")
	}
}
