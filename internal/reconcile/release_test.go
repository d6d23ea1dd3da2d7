package reconcile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// A parent that was deleted before templater knew of it is released without cleanup.
func TestParentDeletedBeforeStartIsReleased(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, app, "name: one", "name: one, finalizers: [example.org/slow]"))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.KubectlApply(withBackup(t, "timeout: 0s"))
	wantRequests(t, "it is released", c.Settle())
}

// An unneeded finalizer is removed by the next reconciliation: another client may have added it, or the status that records it may have been
// lost.
func TestUnneededFinalizerIsRemoved(t *testing.T) {
	for name, finalizes := range map[string]bool{"the status tells of it": true, "the status is lost": false} {
		t.Run(name, func(t *testing.T) {
			c := begun(t, apps, app)
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, finalizes, "status", "finalizes")
			})
			c.Settle()
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{"finalize.templater.dev/apps"})
				_ = unstructured.SetNestedField(o.Object, "edited", "spec", "text")
			})
			wantRequests(t, "it is removed", c.Settle(), "update configmaps a", "update configmaps b", releaseParent, "status apps one")
			if got := c.Objects[one].GetFinalizers(); len(got) > 0 {
				t.Errorf("the parent has the finalizers %v", got)
			}
			wantRequests(t, "a second time", c.Settle())
		})
	}
}

// A parent is released only once, even if the watch lags behind.
func TestParentIsReleasedOnce(t *testing.T) {
	t.Run("another finalizer holds the parent", func(t *testing.T) {
		c := settled(t, with(t, withBackup(t, "timeout: 1s"), "status:\n    template: |\n      count: {{ len .children.maps }}\n", "status: {readyCondition: ''}\n"))
		c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetFinalizers(append(o.GetFinalizers(), "example.org/slow")) })
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		c.Run()
		c.Deliver()
		c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
		_, released := c.Reconcile("apps", "one")
		wantRequests(t, "after the timeout", released, reconciletest.ReadParent, askController, "finalizers[example.org/slow] apps one")
		_, again := c.Reconcile("apps", "one")
		wantRequests(t, "once more", again)
		if got := c.Objects[one].GetFinalizers(); !slices.Equal(got, []string{"example.org/slow"}) {
			t.Errorf("it has %v", got)
		}
	})
	t.Run("the parent is gone", func(t *testing.T) {
		c := settled(t, finalized(t, ", timeout: 0s"))
		c.Refuse[releaseParent] = notFound(one)
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		c.Run()
		c.Deliver()
		c.CollectGarbage()
		c.Deliver()
		result, requests := c.Reconcile("apps", "one")
		wantRequests(t, "it is let go", requests, releaseParent)
		if result != (reconcile.Result{Outcome: record.Succeeded}) {
			t.Errorf("result %+v, want that nothing is left to do", result)
		}
	})
}

// Writes that depend on other writes follow immediately, because watches do not report writes of this process.
func TestOwnWritesTriggerFollowUpWrites(t *testing.T) {
	t.Run("entries that waited for what is ready at once", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(with(t, apps, "  - name: maps\n", "  - name: first\n    template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}'\n  - name: maps\n    dependsOn: [first]\n", "  status:\n    template: |\n      count: {{ len .children.maps }}\n", ""))
		c.KubectlApply(app)
		wantRequests(t, "a new parent", c.Run(), "create configmaps first", "create configmaps a", "create configmaps b", "status apps one")
	})
	t.Run("and what is refused is told before", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(with(t, apps, "  - name: maps\n", "  - name: first\n    template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: first}}'\n  - name: refused\n    template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: refused}}'\n  - name: maps\n    dependsOn: [first]\n", "  status:\n    template: |\n      count: {{ len .children.maps }}\n", ""))
		c.Refuse["create configmaps refused"] = reconciletest.ErrBroken
		c.KubectlApply(app)
		wantRequests(t, "a new parent", c.Run(), "create configmaps first", "create configmaps refused", "status apps one", "create configmaps refused", "create configmaps a", "create configmaps b")
	})
	t.Run("the finalizer is not needed any more", func(t *testing.T) {
		from, to := strings.Index(tenants, "  - name: role"), strings.Index(tenants, "  - name: maps")
		anywhere := with(t, tenants, tenants[from:to], "")
		c := begun(t, anywhere, newTenant(reconciletest.WithSpace("ns")))
		c.KubectlApply(with(t, anywhere, "scope: Cluster", "scope: Namespaced"))
		c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"templater.dev/children"}) })
		if got := c.Run(); !slices.Contains(got, "update configmaps a") || !slices.Contains(got, releaseParent) {
			t.Errorf("requests %q", got)
		}
	})
}

// A canceled reconciliation does nothing, and is retried.
func TestCanceledReconciliationIsRetried(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.ControllerQueue.Add("apps")
	c.Run()
	c.KubectlApply(app)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := len(c.Requests)
	result := c.Reconciler.Reconcile(ctx, queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "one"}})
	wantRequests(t, "cut short", append([]string{}, c.Requests[before:]...))
	if result.Retry != problem.RetryBackoff {
		t.Errorf("result %+v", result)
	}
}

// No parent counts as deleted before the watch has synced.
func TestUnsyncedParentsAreNotTreatedAsDeleted(t *testing.T) {
	c := begun(t, apps, app)
	for want := range c.Caches {
		if want.Role == watch.Parent {
			c.Silent[want] = true
			delete(c.Caches, want)
		}
	}
	c.ControllerQueue.Add("apps")
	c.Run()
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "not known", requests)
	if result != (reconcile.Result{}) {
		t.Errorf("result %+v, though the watch brings the parent", result)
	}
}

// If the spec is rejected, orphans are kept.
func TestDeletionUnderRejectedSpecKeepsChildren(t *testing.T) {
	c := begun(t, tenants, tenant)
	c.Settle()
	c.KubectlApply(with(t, tenants, "{{ end }}", ""))
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"templater.dev/children"}) })
	c.Settle()
	c.RemoveNow(one)
	c.Settle()
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
	wantRequests(t, "it is gone", c.Settle())
	if c.Objects[farMap("a")] == nil {
		t.Error("its child is gone")
	}
}

// The API server rejects a write for a parent that no longer matches.
func TestRejectedWritesForUnmatchedParentAreRetried(t *testing.T) {
	for why, request := range map[string]string{"to delete a child": "delete configmaps a", "to remove its finalizer": releaseParent} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, frontOnly(t, tenants), tenant)
			c.Settle()
			c.Refuse[request] = reconciletest.ErrBroken
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
			c.Run()
			c.Deliver()
			if result, _ := c.Reconcile("apps", "one"); result.Retry != problem.RetryBackoff {
				t.Errorf("result %+v, want another try", result)
			}
			delete(c.Refuse, request)
			c.Settle()
			if c.Objects[farMap("a")] != nil || c.Objects[clusterRole] != nil || len(c.Objects[one].GetFinalizers()) > 0 {
				t.Errorf("it has %v; %d objects are left", c.Objects[one].GetFinalizers(), len(c.Objects))
			}
		})
	}
	t.Run("to mark a child that is to stay", func(t *testing.T) {
		c := begun(t, frontOnly(t, tenants), tenant)
		c.Settle()
		c.Refuse["mark configmaps a"] = reconciletest.ErrBroken
		// The watch only reports the first of these changes.
		c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
		c.End(one, metav1.DeletePropagationOrphan)
		next := c.Objects[one].DeepCopy()
		next.SetFinalizers(append(next.GetFinalizers(), "orphan"))
		c.Store(one, next)
		c.Run()
		c.letsGo()
		delete(c.Refuse, "mark configmaps a")
		c.Settle()
		if c.Objects[farMap("a")] == nil || c.Objects[clusterRole] == nil || c.Objects[one] != nil {
			t.Errorf("%d objects are left, want the children without their parent", len(c.Objects))
		}
	})
}

// While the input of the templates is unknown, the status is kept, as for a parent that is not being deleted.
func TestFailingSelectKeepsStatusDuringDeletion(t *testing.T) {
	selects := "  related:\n  - {name: maps, apiVersion: v1, kind: ConfigMap, select: '{name: {{ if eq .spec.text \"bye\" }}{{ fail \"no\" }}{{ end }}x}'}\n  children:\n"
	c := settled(t, with(t, finalized(t, ", timeout: 0s"), "  children:\n", selects, "count: {{ len .children.maps }}", "text: {{ .spec.text }}"))
	for _, name := range []string{"a", "b"} {
		c.KubectlEdit(configMap(name), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	}
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Settle()
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { _ = unstructured.SetNestedField(o.Object, "bye", "spec", "text") })
	c.Settle()
	if got, _, _ := unstructured.NestedString(c.Objects[one].Object, "status", "text"); got != "hello" {
		t.Errorf("the status says %q", got)
	}
}

// If the spec is rejected, parents that are not being deleted are not changed.
func TestParentUnderRejectedSpecIsNotChanged(t *testing.T) {
	c := settled(t, finalized(t))
	c.KubectlApply(with(t, finalized(t), "{{ end }}", ""))
	c.KubectlEdit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"templater.dev/children"}) })
	c.Settle()
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "one more reconciliation", requests)
	if result != (reconcile.Result{Outcome: record.Waiting}) {
		t.Errorf("result %+v", result)
	}
}
