package controllers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// namespaced returns the TemplateController apps as a NamespacedTemplateController in a namespace.
func namespaced(t *testing.T, namespace string) string {
	t.Helper()
	return with(t, apps, "kind: TemplateController", "kind: NamespacedTemplateController", "{name: apps}", "{name: apps, namespace: "+namespace+"}", "spec:\n", "spec:\n  serviceAccountRef: {name: robot}\n")
}

func TestNamespacedControllerWorksInItsNamespace(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(namespaced(t, "ns"))
	c.KubectlApply(app)
	c.KubectlApply(strings.Replace(app, "namespace: ns", "namespace: far", 1))
	const robot = "ns:robot: "
	wantRequests(t, "a new parent", c.Run(), robot+"create configmaps a", robot+"create configmaps b", robot+"status apps one")
	c.Deliver()
	wantRequests(t, "again", c.Run())
	child := c.Find("configmaps", "a")
	labels := child.GetLabels()
	if labels[v1.LabelNamespacedController] != "apps" || labels[v1.LabelController] != "" {
		t.Errorf("labels %v", labels)
	}
	for _, field := range child.GetManagedFields() {
		if field.Manager != "templater-ns/apps" {
			t.Errorf("field manager %s", field.Manager)
		}
	}
	for _, want := range c.Owned["ns/apps"] {
		if want.Namespace != "ns" || want.As != spec.AccountPrefix+"ns:robot" {
			t.Errorf("%s is watched", want)
		}
	}
	if got := c.Condition("namespacedtemplatecontrollers", "apps", "Ready"); !strings.HasPrefix(got, "True ") {
		t.Error(got)
	}
	if tenant, _ := c.controllers.tenants.Of("ns/apps"); tenant != "namespace:ns" {
		t.Errorf("tenant %s", tenant)
	}
	c.Put(c.Find("configmaps", "a"), func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		labels[v1.LabelController] = "other" // the child would be that of another controller
		o.SetLabels(labels)
	})
	for range 3 {
		c.Run()
		c.Deliver()
	}
	if labels := c.Find("configmaps", "a").GetLabels(); labels[v1.LabelController] != "" || labels[v1.LabelNamespacedController] != "apps" {
		t.Errorf("labels %v", labels)
	}
	wantRequests(t, "once more", c.Run())
	c.KubectlApply(strings.Replace(app, "text: hello", "text: bye", 1))
	wantRequests(t, "a change", c.Run(), robot+"update configmaps a", robot+"update configmaps b", robot+"status apps one")
}

// TestNamesOfNamespacedControllersDoNotCollide runs a TemplateController and a NamespacedTemplateController with the same name, for the same
// parent.
func TestNamesOfNamespacedControllersDoNotCollide(t *testing.T) {
	const finalize = "spec:\n  finalize: {order: Reverse}\n"
	c := newCluster(t)
	c.KubectlApply(app)
	c.KubectlApply(with(t, apps, "spec:\n", finalize))
	c.Run()
	own := with(t, namespaced(t, "ns"), "name: {{ . }}", "name: own-{{ . }}", "spec:\n", finalize+"  whenDeleted: DeleteChildren\n", "      count: {{ len .children.maps }}", "      own: {{ len .children.maps }}",
		"  status:\n", "  status:\n    readyCondition: Own\n")
	c.KubectlApply(own)
	c.Run()
	c.Deliver()
	c.Run()
	parent := c.Find("apps", "one")
	if diff := cmp.Diff([]string{"finalize.templater.dev/apps", "finalize.templater.dev/ns.apps"}, parent.GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	status, _ := parent.Object["status"].(map[string]any)
	if status["count"] != int64(2) || status["own"] != int64(2) {
		t.Errorf("status %v", status)
	}
	c.Deliver()
	wantRequests(t, "again", c.Run())

	// An object that belongs to the TemplateController does not change hands because of its labels.
	taken := c.Find("configmaps", "a")
	c.Put(taken, func(o *unstructured.Unstructured) {
		labels := o.GetLabels()
		delete(labels, v1.LabelController)
		labels[v1.LabelNamespacedController] = "apps"
		o.SetLabels(labels)
	})
	for _, request := range c.Run() {
		if strings.HasPrefix(request, "ns:robot: ") {
			t.Errorf("the NamespacedTemplateController sends %s", request)
		}
	}

	c.KubectlDelete(request.Location{Resource: v1.NamespacedResource, Namespace: "ns", Name: "apps"}, metav1.DeletePropagationBackground)
	for range 5 {
		c.Run()
		c.CollectGarbage()
		c.Deliver()
	}
	for name, want := range map[string]bool{"a": true, "b": true, "own-a": false, "own-b": false} {
		if got := c.Find("configmaps", name) != nil; got != want {
			t.Errorf("ConfigMap %s exists: %t", name, got)
		}
	}
	if diff := cmp.Diff([]string{"finalize.templater.dev/apps"}, c.Find("apps", "one").GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
	if c.Find("namespacedtemplatecontrollers", "apps") != nil {
		t.Error("the NamespacedTemplateController still exists")
	}
}

// TestNamespacedControllersAreConfined stores what the CustomResourceDefinition refuses.
func TestNamespacedControllersAreConfined(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, namespaced(t, "ns"), "{name: robot}", "{namespace: far, name: robot}", "kind: App}", "kind: App, namespaces: [far]}", "- name: maps\n", "- name: maps\n    scope: Cluster\n",
		"  children:\n", "  related: [{name: maps, apiVersion: v1, kind: ConfigMap, namespaces: [far]}]\n  children:\n"))
	c.KubectlApply(app)
	c.KubectlApply(strings.Replace(app, "namespace: ns", "namespace: far", 1))
	const robot = "ns:robot: "
	wantRequests(t, "two parents", c.Run(), robot+"create configmaps a", robot+"create configmaps b", robot+"status apps one")
	for _, want := range c.Owned["ns/apps"] {
		if want.Namespace != "ns" || want.As != spec.AccountPrefix+"ns:robot" {
			t.Errorf("%s is watched", want)
		}
	}
}
