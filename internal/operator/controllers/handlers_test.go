package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestNamespaceLabelChangeEnqueuesAffectedParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}")
	c.KubectlApply(withWatch(t, apps, "namespaceSelector: {matchLabels: {team: red}}"))
	c.KubectlApply(with(t, apps, "name: apps", "name: others"))
	c.KubectlApply(app)
	c.Run()
	want := watch.Want{Resource: controller.Namespaces, Role: watch.Namespace}
	namespace := func(name, labels string) *object.Object {
		return packed(t, parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+name+", labels: {"+labels+"}}}"))
	}
	red, blue := namespace("ns", "team: red"), namespace("ns", "team: blue")
	for why, row := range map[string]struct {
		event watch.Event
		want  []string
	}{
		"it is new":              {watch.Event{New: red}, []string{"apps/one"}},
		"it is gone":             {watch.Event{Old: red}, []string{"apps/one"}},
		"it has other labels":    {watch.Event{Old: red, New: blue}, []string{"apps/one"}},
		"it has the same labels": {watch.Event{Old: red, New: red}, []string{}},
		"it is another one":      {watch.Event{New: namespace("other", "team: red")}, []string{}},
	} {
		reconciletest.Take(c.ParentQueue)
		c.controllers.namespaceChanged(want, row.event)
		if diff := cmp.Diff(row.want, reconciletest.Take(c.ParentQueue)); diff != "" {
			t.Errorf("%s: looked at (-want +got):\n%s", why, diff)
		}
	}
}

func TestKindChangeEnqueuesTemplateControllersUsingIt(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	for gk, want := range map[schema.GroupKind]int{
		{Group: "example.org", Kind: "App"}: 1, {Kind: "ConfigMap"}: 1, {Group: "batch", Kind: "Job"}: 0,
	} {
		c.controllers.kindChanged(gk)
		if got := c.controllers.queue.Len(); got != want {
			t.Errorf("%s: %d are told, want %d", gk, got, want)
		}
		c.RunControllers()
	}
}

func TestKindChangeSkipsControllersWithInvalidSelector(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withWatch(t, apps, "labelSelector: {matchLabels: {tier: '?'}}"))
	c.RunControllers()
	c.controllers.kindChanged(schema.GroupKind{Group: "example.org", Kind: "App"})
	if n := c.controllers.queue.Len(); n > 0 {
		t.Errorf("%d are told", n)
	}
}

func TestStandbyEnqueuesNoParents(t *testing.T) {
	want := watch.Want{Resource: configMap("").Resource, Role: watch.Parent}
	for _, standby := range []bool{false, true} {
		t.Run(fmt.Sprint("standby ", standby), func(t *testing.T) {
			c := newCluster(t)
			c.controllers.standby.Store(standby)
			if _, err := c.Set("apps", []watch.Want{want}); err != nil {
				t.Fatal(err)
			}
			c.controllers.Changed(want, watch.Event{New: packed(t, parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"))})
			if got := c.ParentQueue.Len() == 0; got != standby {
				t.Errorf("another one leads: %v, and nobody is looked at: %v", standby, got)
			}
		})
	}
}

func TestNamespaceChangeEnqueuesOnlySelectingControllers(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}")
	c.KubectlApply(withWatch(t, apps, "namespaceSelector: {matchLabels: {team: red}}"))
	c.KubectlApply(with(t, apps, "name: apps", "name: others"))
	c.KubectlApply(app)
	c.KubectlApply(newApp(withName("two")))
	c.Run()
	want := watch.Want{Resource: controller.Namespaces, Role: watch.Namespace}
	c.Owned["others"] = append(c.Owned["others"], want) // just stopped using it
	c.Owned["gone"] = []watch.Want{want}
	c.controllers.namespaceChanged(want, watch.Event{New: packed(t, parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: ns}}"))})
	got := reconciletest.Take(c.ParentQueue)
	slices.Sort(got)
	if diff := cmp.Diff([]string{"apps/one", "apps/two"}, got); diff != "" {
		t.Errorf("looked at (-want +got):\n%s", diff)
	}
}

func TestStandbyHandlesCRDChanges(t *testing.T) {
	c := newCluster(t)
	c.standby()
	c.KubectlApply(apps)
	c.Run()
	definition := packed(t, parse(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: apps.example.org}, spec: {group: example.org, names: {kind: App}}}"))
	c.controllers.Changed(watch.Want{Role: watch.Definition}, watch.Event{New: definition})
	if n := c.controllers.queue.Len(); n != 1 {
		t.Errorf("%d TemplateControllers are looked at, want 1", n)
	}
}

func TestLossDelayAppliesOnlyToUnexpectedDeletions(t *testing.T) {
	c := newCluster(t)
	c.controllers.patience = lossPatience
	there := packed(t, parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"))
	going := packed(t, parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: \"2026-01-01T00:00:00Z\"}}"))
	for why, row := range map[string]struct {
		event watch.Event
		later bool
	}{
		"it has gone":           {watch.Event{Old: there}, true},
		"it was being deleted":  {watch.Event{Old: going}, false},
		"it is another one now": {watch.Event{Old: there, New: there}, false},
	} {
		if got := c.controllers.lossDelay(row.event) > 0; got != row.later {
			t.Errorf("%s: missed later: %v, want %v", why, got, row.later)
		}
	}
}

func TestReconcileAtEndsBackoff(t *testing.T) {
	webhook := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	denied := denial("system:serviceaccount:templater-system:templater", "patch", "configmaps", `in the namespace "ns"`)
	for _, row := range []struct {
		why    string
		err    error
		at     string // value of the annotation before
		change func(o *unstructured.Unstructured)
		ended  bool
	}{
		{"a rejected write", webhook, "", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{v1.AnnotationReconcileAt: "1"}) }, true},
		{"a missing permission", denied, "", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{v1.AnnotationReconcileAt: "1"}) }, true},
		{"another value", webhook, "1", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{v1.AnnotationReconcileAt: "2"}) }, true},
		{"the same value", webhook, "1", func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"edited": "yes"}) }, false},
		{"no value", webhook, "1", func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }, false},
		{"another annotation", webhook, "", func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"edited": "yes"}) }, false},
	} {
		t.Run(row.why, func(t *testing.T) {
			c := newCluster(t)
			c.NoReviews = true
			c.Refuse["create configmaps a"] = row.err
			c.KubectlApply(apps)
			c.KubectlApply(newApp(withChildren("a")))
			c.KubectlEdit(one, func(o *unstructured.Unstructured) {
				if row.at != "" {
					o.SetAnnotations(map[string]string{v1.AnnotationReconcileAt: row.at})
				}
			})
			for range 20 {
				c.Run()
				c.Advance(time.Hour)
			}
			c.Run()
			reconciletest.Take(c.ParentQueue)
			key := keyOf("apps", "one")
			failures := c.shared.failures.NumRequeues(key)
			c.KubectlEdit(one, row.change)
			if got := reconciletest.Take(c.ParentQueue); !slices.Equal(got, []string{"apps/one"}) {
				t.Errorf("enqueued %v, want the parent", got)
			}
			left := c.shared.failures.NumRequeues(key) + lengths(t, c.shared.waiting, "of")
			if before := failures + lengths(t, c.shared.waiting, "of"); !row.ended && (left != before || left == 0) || row.ended && left != 0 {
				t.Errorf("%d failures and waits are left of %d", left, before)
			}
		})
	}
}

func TestReconcileAtEndsLoopBackoff(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	key := keyOf("apps", "one")
	c.shared.Breaker.Wrote(key, queue.Generations{}, queue.Written{Children: true})
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{v1.AnnotationReconcileAt: "1"}) })
	if c.shared.Breaker.Knows(key) {
		t.Error("the backoff of a loop has not ended")
	}
}
