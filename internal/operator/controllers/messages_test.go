package controllers

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// TestContestedFieldMessageHidesDynamicKeys: two TemplateControllers write a field whose name is a value.
func TestContestedFieldMessageHidesDynamicKeys(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: { {{ .metadata.uid }}: red }"))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(statusOnly("ys", "color: { {{ .metadata.uid }}: blue }"))
	c.Settle()
	want := "False FieldOwned: .status.color.… is also written by TemplateController xs"
	if got := c.writable("ys"); !strings.HasPrefix(got, want) {
		t.Errorf("condition %q, want %s", got, want)
	}
}

func TestConditionMessageIsSingleLine(t *testing.T) {
	c := newCluster(t)
	o := parse(t, apps)
	if err := unstructured.SetNestedField(o.Object, "A"+reconciletest.OddText, "spec", "watch", "kind"); err != nil {
		t.Fatal(err)
	}
	o.SetUID("uid-apps")
	c.Store(appsController, o)
	c.Deliver()
	c.Run()
	if got := c.Condition("templatecontrollers", "apps", "Ready"); !strings.Contains(got, object.Line("A"+reconciletest.OddText, problem.MaxMessageLength)) {
		t.Errorf("condition %q, want the kind in it as people can be shown it", got)
	}
}

func TestConditionMessageFitsStatusLimit(t *testing.T) {
	c := newCluster(t)
	c.Longest = map[string]int{"templatecontrollers": 300}
	c.KubectlApply(with(t, apps, "count: {{ len .children.maps }}", "count: {{ "+strings.Repeat("nosuchfunction", 30)+" }}"))
	c.Run()
	got := c.Condition("templatecontrollers", "apps", v1.ConditionAccepted)
	if !strings.HasPrefix(got, "False InvalidTemplate: status:1:11: unknown function") || len(got) > 300 {
		t.Errorf("condition %q", got)
	}
}
