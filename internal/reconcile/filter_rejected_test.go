package reconcile_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managedOnly is a filter that reads an annotation.
const managedOnly = `eq (index .metadata.annotations "example.org/managed") "yes"`

func TestARejectedSpecReportsOnParentsFromBeforeItsFilter(t *testing.T) {
	c := begun(t, apps, app)
	c.apply(with(t, filtering(t, `eq .spec.text "nope"`), "{{ range .spec.names }}", "{{ range .spec.names"))
	wantRequests(t, "rejected", c.settle(), "status apps one")
	if got, want := c.condition("apps", "one", "Ready"), "False "+notAccepted; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	wantRequests(t, "a second run", c.settle())
}

func TestARejectedResyncPeriodIsReported(t *testing.T) {
	c := begun(t, apps, app)
	c.apply(with(t, apps, "spec:\n", "spec:\n  resyncPeriod: often\n"))
	c.settle()
	if got, want := c.condition("apps", "one", "Ready"), "False "+notAccepted; got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
}

// reversed is a spec with a filter whose parents get a finalizer.
func reversed(t *testing.T, filter string) string {
	t.Helper()
	return with(t, filtering(t, filter), "spec:\n", "spec:\n  finalize:\n    order: Reverse\n")
}

func TestARejectedSpecReleasesAFormerParentThatIsDeleted(t *testing.T) {
	c := newCluster(t)
	c.apply(reversed(t, managedOnly))
	c.apply(managed)
	c.settle()
	c.apply(with(t, reversed(t, managedOnly), "{{ range .spec.names }}", "{{ range .spec.names"))
	c.edit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	c.settle()
	if len(c.Objects[one].GetFinalizers()) == 0 {
		t.Fatal("the parent has no finalizer, so that the test shows nothing")
	}
	c.deletes(one, metav1.DeletePropagationBackground)
	c.settle()
	if c.Objects[one] != nil {
		t.Errorf("the parent still exists, with finalizers %v", c.Objects[one].GetFinalizers())
	}
}
