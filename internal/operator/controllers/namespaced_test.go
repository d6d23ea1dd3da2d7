package controllers

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

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

// TestNamespacedControllersBeyondLimitAreNotRun has one more in a namespace than may run.
func TestNamespacedControllersBeyondLimitAreNotRun(t *testing.T) {
	named := func(name, namespace string, minute int) string {
		return with(t, namespaced(t, namespace), "{name: apps,", "{name: "+name+", creationTimestamp: \"2026-01-01T00:0"+strconv.Itoa(minute)+":00Z\",", "name: {{ . }}", "name: "+name+"-{{ . }}")
	}
	c := newCluster(t)
	c.most = 2
	c.start()
	c.KubectlApply(app)
	for i, name := range []string{"first", "second", "third"} {
		c.KubectlApply(named(name, "ns", i))
		c.Settle()
	}
	c.KubectlApply(named("first", "far", 4))
	c.KubectlApply(with(t, apps, "spec:\n", "spec:\n  serviceAccountRef: {namespace: ns, name: robot}\n"))
	const beyond = "False TooManyTemplateControllers: the limit of 2 NamespacedTemplateControllers in a namespace is reached, and older ones have precedence: delete others, or ask an administrator for a TemplateController"
	expect := func(when string) {
		t.Helper()
		c.Settle()
		if got := c.Condition("namespacedtemplatecontrollers", "third", "Ready"); !strings.HasPrefix(got, beyond) {
			t.Errorf("%s: condition %s", when, got)
		}
		if c.Find("configmaps", "third-a") != nil || len(c.Owned["ns/third"]) > 0 {
			t.Errorf("%s: it runs, and watches %v", when, c.Owned["ns/third"])
		}
		for name, child := range map[string]string{"ns/first": "first-a", "ns/second": "second-a", "far/first": "", "apps": "a"} {
			if len(c.Owned[name]) == 0 || child != "" && c.Find("configmaps", child) == nil {
				t.Errorf("%s: %s does not run", when, name)
			}
		}
	}
	expect("it is new")
	c.WantQuiet("it is new")
	c.start()
	expect("after a restart")
	for why, row := range map[string]struct {
		manifest string
		refused  bool
	}{
		"another one is created":       {named("fourth", "ns", 5), true},
		"one in another namespace":     {named("fourth", "far", 5), false},
		"one that runs is edited":      {named("first", "ns", 0), false},
		"a TemplateController is made": {with(t, apps, "{name: apps}", "{name: more}"), false},
	} {
		t.Run(why, func(t *testing.T) {
			tc := &v1.TemplateController{}
			if err := yaml.Unmarshal([]byte(row.manifest), tc); err != nil {
				t.Fatal(err)
			}
			if errors := c.controllers.Refuse(tc); len(errors) > 0 != row.refused {
				t.Errorf("errors %v", errors)
			}
		})
	}
	c.RemoveNow(request.Location{Resource: v1.NamespacedResource, Namespace: "ns", Name: "first"})
	c.Settle()
	if got := c.Condition("namespacedtemplatecontrollers", "third", "Ready"); !strings.HasPrefix(got, "True ") || c.Find("configmaps", "third-a") == nil {
		t.Errorf("another one is deleted: condition %s", got)
	}
}

// TestNamespacedControllerBeyondLimitCanBeDeleted: it ran before, and has children.
func TestNamespacedControllerBeyondLimitCanBeDeleted(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(app)
	c.KubectlApply(with(t, namespaced(t, "ns"), "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n  finalize: {order: Reverse}\n"))
	c.Settle()
	c.startWith(Options{Standby: true})
	c.controllers.memory.Most = 0
	c.controllers.Lead()
	c.Settle()
	if c.Find("configmaps", "a") == nil || !strings.Contains(c.Condition("namespacedtemplatecontrollers", "apps", "Accepted"), "TooManyTemplateControllers") {
		t.Fatalf("children are not kept, or condition %s", c.Condition("namespacedtemplatecontrollers", "apps", "Accepted"))
	}
	c.KubectlDelete(request.Location{Resource: v1.NamespacedResource, Namespace: "ns", Name: "apps"}, metav1.DeletePropagationBackground)
	for range 5 {
		c.Settle()
		c.CollectGarbage()
	}
	if c.Find("configmaps", "a") != nil || c.Find("namespacedtemplatecontrollers", "apps") != nil || len(c.Find("apps", "one").GetFinalizers()) > 0 {
		t.Errorf("left are %v, %v", c.Find("configmaps", "a"), c.Find("apps", "one").GetFinalizers())
	}
}

// TestNamespacedControllerBeyondWatchLimitGetsPossibleAdvice: it cannot list namespaces.
func TestNamespacedControllerBeyondWatchLimitGetsPossibleAdvice(t *testing.T) {
	for why, row := range map[string]struct {
		watches         int
		condition, want string
	}{
		"none is left":                  {0, "Accepted", "older ones have precedence): render or relate to fewer kinds, or delete other NamespacedTemplateControllers in the namespace; until then"},
		"none is left for the children": {1, "Watching", "has reached its watch limit: render fewer kinds, or delete other NamespacedTemplateControllers in the namespace"},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.controllers.watchShares.Most = row.watches
			c.KubectlApply(app)
			c.KubectlApply(namespaced(t, "ns"))
			c.Settle()
			if got := c.Condition("namespacedtemplatecontrollers", "apps", row.condition); !strings.HasPrefix(got, "False TooManyWatches: ") || !strings.Contains(got, row.want) {
				t.Errorf("condition %s", got)
			}
		})
	}
}
