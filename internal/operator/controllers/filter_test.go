package controllers

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// TestFailedFilterKeepsParentSelection uses objects whose mode cannot be compared with a number.
func TestFailedFilterKeepsParentSelection(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(reconciletest.Filtered(t, `eq .spec.mode 1`))
	c.KubectlApply(managedApp)
	c.Run()
	c.KubectlApply(with(t, managedApp, "mode: 1", "mode: x", "[a, b]", "[a, b, c]"))
	c.KubectlApply(with(t, managedApp, "mode: 1", "mode: x", "name: one", "name: two", "[a, b]", "[d]"))
	requests := c.Run()
	if got := strings.Join(requests, "; "); !strings.Contains(got, "create configmaps c") || strings.Contains(got, "configmaps d") || strings.Contains(got, "delete") {
		t.Errorf("requests %s; want that one stays a parent, and that two does not become one", got)
	}
	const want = "False FilterFailed: spec.watch.filter:1:1: eq: cannot compare a string with a number; convert one of them with int, float64 or toString (2 objects are affected, for example ns/one): until the filter is fixed, the set of parents does not change"
	if got := c.Condition("templatecontrollers", "apps", "FilterEvaluated"); got != want {
		t.Errorf("condition\n%q, want\n%q", got, want)
	}
	c.start()
	for _, r := range c.Run() {
		if strings.HasPrefix(r, "delete") || strings.HasPrefix(r, "create") {
			t.Errorf("after a restart: %s", r)
		}
	}
	if got := c.controllers.get("apps").Parent(configMapName("one")); got == nil {
		t.Error("after a restart, a parent with children is none any more")
	}
	c.KubectlApply(with(t, managedApp, "mode: 1", "mode: 2"))
	wantRequests(t, "it stops matching", c.Run(), "get apps one", "delete configmaps a", "delete configmaps b", "delete configmaps c")
}

// TestFilterIsEvaluatedWithoutLocks evaluates a failing filter for a new object, and checks during the evaluation that
// no lock is held. If a cache is locked, the test blocks forever.
func TestFilterIsEvaluatedWithoutLocks(t *testing.T) {
	for why, act := range map[string]func(*cluster, *tracked, *v1.TemplateController){
		"a parent is looked up":    func(_ *cluster, e *tracked, _ *v1.TemplateController) { e.current.Parent(configMapName("one")) },
		"parents are iterated":     func(_ *cluster, e *tracked, _ *v1.TemplateController) { e.current.EachParent(func(*object.Object) {}) },
		"all parents are enqueued": func(c *cluster, e *tracked, _ *v1.TemplateController) { c.controllers.enqueueAll(e.current) },
		"seals are checked":        func(_ *cluster, e *tracked, _ *v1.TemplateController) { e.current.AllSealed(true) },
		"the status is computed": func(c *cluster, e *tracked, tc *v1.TemplateController) {
			c.controllers.statusOf(tc, e, assembly{}, e.current)
		},
		"idle kinds are dropped": func(c *cluster, e *tracked, _ *v1.TemplateController) { c.controllers.dropIdleKinds("apps", e) },
		"a reconciliation ends": func(c *cluster, _ *tracked, _ *v1.TemplateController) {
			c.controllers.Count(queue.Key{Controller: "apps", Parent: configMapName("one")}, status.ParentSummary{})
		},
		"the status is recounted": func(c *cluster, e *tracked, tc *v1.TemplateController) {
			tc.Status.Parents.Total = 5
			e.since = c.Clock.Now()
			c.controllers.statusOf(tc, e, assembly{}, e.current)
		},
		"children are iterated": eachChildConcerns,
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(reconciletest.Filtered(t, `eq .spec.mode 1`))
			c.KubectlApply(managedApp)
			c.Settle()
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }) // including the seal
			c.KubectlApply(with(t, managedApp, "mode: 1", "mode: x"))
			c.Deliver()
			e := c.controllers.tracked["apps"]
			evaluated := 0
			e.current.Factory.Adopting = true
			e.former, e.bits = nil, map[schema.GroupKind]uint64{}
			for gk, s := range e.current.Sources {
				s.Bit = 1 << 40 // no parent uses it
				e.current.Sources[gk] = s
			}
			e.current.Filter = controller.NewFilter(e.current.Program, nil, func() {
				evaluated++
				if !c.controllers.mu.TryLock() {
					t.Error("Controllers is locked")
				} else {
					c.controllers.mu.Unlock()
				}
				for _, cache := range c.Caches {
					cache.Deleting(types.NamespacedName{Name: "none"}, "")
				}
			})
			tc := &v1.TemplateController{Spec: *e.current.Spec}
			tc.Name = "apps"
			act(c, e, tc)
			if evaluated == 0 {
				e.current.Parent(configMapName("one"))
			}
			if evaluated != 1 {
				t.Errorf("evaluated %d times, so that the test shows nothing", evaluated)
			}
		})
	}
}

func eachChildConcerns(_ *cluster, e *tracked, _ *v1.TemplateController) {
	e.current.EachChild(func(s controller.Source, o *object.Object) { e.current.Concerned(o, s.Kind.GroupKind()) })
}

func TestRejectedSpecIsReportedOnFilteredParents(t *testing.T) {
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
			c.loseRevisions()
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
