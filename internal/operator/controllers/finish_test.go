package controllers

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// A new leader has nothing go by a spec that may be another one by now.
func TestChildrenGoByTheNewestSpecAlone(t *testing.T) {
	c := settled(t, finalized(t, ", timeout: 0s"))
	c.standby()
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Refuse["get templatecontrollers apps"] = reconciletest.ErrBroken
	c.controllers.Lead()
	if got := c.Run(); slices.Contains(got, "delete-foreground configmaps a") {
		t.Errorf("requests %q", got)
	}
	if got := c.Condition("apps", "one", "Ready"); !strings.Contains(got, "waiting to read the latest version of TemplateController apps") {
		t.Errorf("ready condition %q", got)
	}
	delete(c.Refuse, "get templatecontrollers apps")
	c.Settle()
	if c.Objects[one] != nil {
		t.Errorf("it is there still: %s", c.Condition("apps", "one", "Ready"))
	}
}
