package controllers

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managedOnly is a filter that reads an annotation.
const managedOnly = `eq (index .metadata.annotations "example.org/managed") "yes"`

func TestARejectedSpecReportsOnFilteredParentsOnly(t *testing.T) {
	for why, row := range map[string]struct {
		filter, reported string
	}{
		"the filter compiles":                {managedOnly, "False TemplateControllerNotAccepted"},
		"the filter does not compile either": {`eq (index .metadata`, "True"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(filtering(t, managedOnly))
			c.apply(managed)
			c.apply(with(t, managed, "'yes'", "'no'", "name: one", "name: two"))
			c.settle()
			c.apply(with(t, filtering(t, row.filter), "{{ range .spec.names }}", "{{ range .spec.names"))
			c.settle()
			if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, row.reported) {
				t.Errorf("condition of the parent %q, want %q", got, row.reported)
			}
			if got := c.get("apps", "two").Object["status"]; got != nil {
				t.Errorf("status %v of an object that the filter excludes", got)
			}
		})
	}
}

func TestStatusCountsFilteredParentsOnly(t *testing.T) {
	c := newCluster(t)
	c.apply(filtering(t, managedOnly))
	c.apply(managed)
	c.apply(with(t, managed, "'yes'", "'no'", "name: one", "name: two"))
	c.settle()
	parents := c.get("templatecontrollers", "apps").Object["status"].(map[string]any)["parents"].(map[string]any)
	if parents["total"] != int64(1) {
		t.Errorf("status.parents %v, want a total of 1", parents)
	}
	if got := c.condition("templatecontrollers", "apps", "ParentsReady"); !strings.HasPrefix(got, "True") {
		t.Errorf("condition ParentsReady %q", got)
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
	if len(c.objects[one].GetFinalizers()) == 0 {
		t.Fatal("the parent has no finalizer, so that the test shows nothing")
	}
	c.deletes(one, metav1.DeletePropagationBackground)
	c.settle()
	if c.objects[one] != nil {
		t.Errorf("the parent still exists, with finalizers %v", c.objects[one].GetFinalizers())
	}
}

func TestDeletionWithAnInvalidFilterIsNotReported(t *testing.T) {
	c := newCluster(t)
	c.apply(reversed(t, managedOnly))
	c.apply(managed)
	c.apply(with(t, managed, "'yes'", "'no'", "name: one", "name: two"))
	c.settle()
	c.apply(reversed(t, `eq (index .metadata`))
	c.settle()
	c.deletes(appsController, metav1.DeletePropagationBackground)
	c.settle()
	if got := c.get("apps", "two").Object["status"]; got != nil {
		t.Errorf("status %v of an object that the filter excluded", got)
	}
}
