package reconcile_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestOnlyObjectsMatchingFilterAreParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq (index .metadata.annotations "example.org/managed") "yes"`))
	c.KubectlApply(with(t, reconciletest.ManagedApp, "'yes'", "'no'"))
	wantRequests(t, "it is no parent", c.Run())
	c.KubectlApply(reconciletest.ManagedApp)
	wantRequests(t, "it becomes one", c.Run(), "create configmaps a", "create configmaps b", "status apps one")
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "again", requests)
	c.KubectlApply(with(t, reconciletest.ManagedApp, "'yes'", "'no'"))
	wantRequests(t, "it stops matching", c.Settle(), "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "after that", requests)
	if _, requests = c.Reconcile("apps", "none"); len(requests) != 0 {
		t.Errorf("requests %v about an object that is not there", requests)
	}
}

func TestFilterReleasesParentOnlyByLiveObject(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq (index .metadata.annotations "example.org/managed") "yes"`))
	c.KubectlApply(reconciletest.ManagedApp)
	c.Run()
	c.KubectlApply(with(t, reconciletest.ManagedApp, "'yes'", "'no'"))
	c.Deliver()
	live := parse(t, reconciletest.ManagedApp)
	c.During = func() { c.Objects[locationOf(live)].SetAnnotations(live.GetAnnotations()) } // not yet delivered by the watch
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "the cache is behind", requests, "get apps one")
}

func TestFailingFilterWaitsForChildWatch(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq .spec.mode 1`))
	c.KubectlApply(reconciletest.ManagedApp)
	c.Run()
	c.KubectlApply(with(t, reconciletest.ManagedApp, "mode: 1", "mode: x"))
	c.Settle()
	maps := watch.Want{Resource: reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}].Resource, Labels: v1.LabelController, Role: watch.Child}
	c.Silent[maps] = true
	c.start()
	wantRequests(t, "before the children are read", c.Run())
	delete(c.Silent, maps)
	c.List(maps)
	c.Settle()
	if c.controllers.get("apps").Parent(configMapName("one")) == nil {
		t.Error("a parent with children is none any more")
	}
	c.RemoveNow(configMap("a"))
	wantRequests(t, "a child is deleted", c.Settle(), "create configmaps a")
}

func TestRejectedSpecIsReportedOnEarlierParents(t *testing.T) {
	c := begun(t, apps, app)
	c.KubectlApply(with(t, reconciletest.Filtered(t, `eq .spec.text "nope"`), "{{ range .spec.names }}", "{{ range .spec.names"))
	wantRequests(t, "rejected", c.Settle(), "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "False "+reconciletest.NotAccepted; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	wantRequests(t, "a second run", c.Settle())
}

func TestInvalidResyncPeriodIsReported(t *testing.T) {
	c := begun(t, apps, app)
	c.KubectlApply(withSpec(t, apps, "resyncPeriod: often"))
	c.Settle()
	if got, want := c.Condition("apps", "one", "Ready"), "False "+reconciletest.NotAccepted; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestRejectedSpecReleasesDeletedFormerParent(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.FilteredFinalized(t, reconciletest.ManagedOnly))
	c.KubectlApply(reconciletest.ManagedApp)
	c.Settle()
	c.KubectlApply(invalid(t, reconciletest.FilteredFinalized(t, reconciletest.ManagedOnly)))
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	c.Settle()
	if len(c.Objects[one].GetFinalizers()) == 0 {
		t.Fatal("the parent has no finalizer, so that the test shows nothing")
	}
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Settle()
	if c.Objects[one] != nil {
		t.Errorf("the parent still exists, with finalizers %v", c.Objects[one].GetFinalizers())
	}
}
