package controllers

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestConditionsOfATemplateControllerAreLines(t *testing.T) {
	c := newCluster(t)
	o := parse(t, apps)
	if err := unstructured.SetNestedField(o.Object, "A"+reconciletest.OddText, "spec", "watch", "kind"); err != nil {
		t.Fatal(err)
	}
	o.SetUID("uid-apps")
	c.Store(appsController, o)
	c.Deliver()
	c.Run()
	if got := c.Condition("templatecontrollers", "apps", "Ready"); !strings.Contains(got, object.Line("A"+reconciletest.OddText, problem.LongestMessage)) {
		t.Errorf("condition %q, want the kind in it as people can be shown it", got)
	}
}
