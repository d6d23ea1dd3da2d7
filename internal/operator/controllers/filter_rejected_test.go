package controllers

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestARejectedSpecReportsOnItsParentsWhateverItsFilter(t *testing.T) {
	for why, row := range map[string]struct {
		filter, parent string
	}{
		"the filter is as before":        {reconciletest.ManagedOnly, managedApp},
		"the filter excludes the parent": {`eq .spec.text "nope"`, managedApp},
		"the filter does not compile":    {`eq (index .metadata`, managedApp},
		"the parent has no children":     {`eq .spec.text "nope"`, with(t, managedApp, "[a, b]", "[]")},
		"the filter is refused":          {`empty .metadata.finalizers`, managedApp},
		"the filter fails":               {`eq .spec.text 1`, managedApp},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(reconciletest.Filtered(t, reconciletest.ManagedOnly))
			c.KubectlApply(row.parent)
			c.KubectlApply(with(t, managedApp, "'yes'", "'no'", "name: one", "name: two"))
			c.Settle()
			c.KubectlApply(invalid(t, reconciletest.Filtered(t, row.filter)))
			for _, restarted := range []bool{false, true} {
				if restarted {
					c.start()
				}
				c.Settle()
				if got, want := c.Condition("apps", "one", "Ready"), "False "+reconciletest.NotAccepted; got != want {
					t.Errorf("restarted %t: condition of the parent %q, want %q", restarted, got, want)
				}
				if got := c.Find("apps", "two").Object["status"]; got != nil {
					t.Errorf("restarted %t: status %v of an object that is no parent", restarted, got)
				}
				if got := c.Condition("templatecontrollers", "apps", "FilterEvaluated"); got != "no condition FilterEvaluated" {
					t.Errorf("restarted %t: condition FilterEvaluated %q beside Accepted=False, want none", restarted, got)
				}
			}
		})
	}
}

func TestStatusCountsFilteredParentsOnly(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, reconciletest.ManagedOnly))
	c.KubectlApply(managedApp)
	c.KubectlApply(with(t, managedApp, "'yes'", "'no'", "name: one", "name: two"))
	c.Settle()
	parents := c.Find("templatecontrollers", "apps").Object["status"].(map[string]any)["parents"].(map[string]any)
	if parents["total"] != int64(1) {
		t.Errorf("status.parents %v, want a total of 1", parents)
	}
	if got := c.Condition("templatecontrollers", "apps", "ParentsReady"); !strings.HasPrefix(got, "True") {
		t.Errorf("condition ParentsReady %q", got)
	}
}

func TestDeletionWithAnInvalidFilterIsNotReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.FilteredFinalized(t, reconciletest.ManagedOnly))
	c.KubectlApply(managedApp)
	c.KubectlApply(with(t, managedApp, "'yes'", "'no'", "name: one", "name: two"))
	c.Settle()
	c.KubectlApply(reconciletest.FilteredFinalized(t, `eq (index .metadata`))
	c.Settle()
	c.KubectlDelete(appsController, metav1.DeletePropagationBackground)
	c.Settle()
	if got := c.Find("apps", "two").Object["status"]; got != nil {
		t.Errorf("status %v of an object that the filter excluded", got)
	}
}
