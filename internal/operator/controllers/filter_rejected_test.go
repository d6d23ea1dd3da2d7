package controllers

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managedOnly is a filter that reads an annotation.
const managedOnly = `eq (index .metadata.annotations "example.org/managed") "yes"`

func TestARejectedSpecReportsOnItsParentsWhateverItsFilter(t *testing.T) {
	for why, row := range map[string]struct {
		filter, parent string
	}{
		"the filter is as before":        {managedOnly, managed},
		"the filter excludes the parent": {`eq .spec.text "nope"`, managed},
		"the filter does not compile":    {`eq (index .metadata`, managed},
		"the parent has no children":     {`eq .spec.text "nope"`, with(t, managed, "[a, b]", "[]")},
		"the filter is refused":          {`empty .metadata.finalizers`, managed},
		"the filter fails":               {`eq .spec.text 1`, managed},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(filtering(t, managedOnly))
			c.apply(row.parent)
			c.apply(with(t, managed, "'yes'", "'no'", "name: one", "name: two"))
			c.settle()
			c.apply(with(t, filtering(t, row.filter), "{{ range .spec.names }}", "{{ range .spec.names"))
			for _, restarted := range []bool{false, true} {
				if restarted {
					c.start()
				}
				c.settle()
				if got, want := c.condition("apps", "one", "Ready"), "False "+notAccepted; got != want {
					t.Errorf("restarted %t: condition of the parent %q, want %q", restarted, got, want)
				}
				if got := c.get("apps", "two").Object["status"]; got != nil {
					t.Errorf("restarted %t: status %v of an object that is no parent", restarted, got)
				}
				if got := c.condition("templatecontrollers", "apps", "FilterEvaluated"); got != "no condition FilterEvaluated" {
					t.Errorf("restarted %t: condition FilterEvaluated %q beside Accepted=False, want none", restarted, got)
				}
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
