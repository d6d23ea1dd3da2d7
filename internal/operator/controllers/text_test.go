package controllers

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// odd has characters that YAML takes for something else, or does not take, where they stand unescaped.
const odd = "a\u0085b: c\u2028\u2029 d \x7f\u0080\ufffe\ufeff\r\n\x00 \U0001f600\U0001ffff"

func TestConditionsOfATemplateControllerAreLines(t *testing.T) {
	c := newCluster(t)
	o := parse(t, apps)
	if err := unstructured.SetNestedField(o.Object, "A"+odd, "spec", "watch", "kind"); err != nil {
		t.Fatal(err)
	}
	o.SetUID("uid-apps")
	c.Store(appsController, o)
	c.deliver()
	c.run()
	if got := c.condition("templatecontrollers", "apps", "Ready"); !strings.Contains(got, object.Line("A"+odd, problem.LongestMessage)) {
		t.Errorf("condition %q, want the kind in it as people can be shown it", got)
	}
}
