package controllers

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// broken is the answer of a server that cannot do what it is asked.
var broken = answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")

// A new leader has nothing go by a spec that may be another one by now.
func TestChildrenGoByTheNewestSpecAlone(t *testing.T) {
	c := finalizes(t, ordered(t, ", timeout: 0s"))
	c.standby()
	c.deletes(one, metav1.DeletePropagationBackground)
	c.run()
	c.refuse["get templatecontrollers apps"] = broken
	c.controllers.Lead()
	if got := c.run(); slices.Contains(got, "delete-foreground configmaps a") {
		t.Errorf("requests %q", got)
	}
	if got := c.condition("apps", "one", "Ready"); !strings.Contains(got, "waiting to read the latest version of TemplateController apps") {
		t.Errorf("ready condition %q", got)
	}
	delete(c.refuse, "get templatecontrollers apps")
	c.settle()
	if c.Objects[one] != nil {
		t.Errorf("it is there still: %s", c.condition("apps", "one", "Ready"))
	}
}
