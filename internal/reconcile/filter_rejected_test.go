package reconcile_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestARejectedSpecReportsOnParentsFromBeforeItsFilter(t *testing.T) {
	c := begun(t, apps, app)
	c.KubectlApply(with(t, reconciletest.Filtered(t, `eq .spec.text "nope"`), "{{ range .spec.names }}", "{{ range .spec.names"))
	wantRequests(t, "rejected", c.Settle(), "status apps one")
	if got, want := c.Condition("apps", "one", "Ready"), "False "+reconciletest.NotAccepted; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	wantRequests(t, "a second run", c.Settle())
}

func TestARejectedResyncPeriodIsReported(t *testing.T) {
	c := begun(t, apps, app)
	c.KubectlApply(withSpec(t, apps, "resyncPeriod: often"))
	c.Settle()
	if got, want := c.Condition("apps", "one", "Ready"), "False "+reconciletest.NotAccepted; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestARejectedSpecReleasesAFormerParentThatIsDeleted(t *testing.T) {
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
