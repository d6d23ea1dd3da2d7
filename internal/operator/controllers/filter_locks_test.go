package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// TestTheFilterIsEvaluatedWithoutLocks evaluates a filter for an object that it does not know, for which it fails, and checks during the
// evaluation that no lock is held. A cache that is locked blocks the test for ever.
func TestTheFilterIsEvaluatedWithoutLocks(t *testing.T) {
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
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetAnnotations(nil) }) // among them the seal
			c.KubectlApply(with(t, managedApp, "mode: 1", "mode: x"))
			c.Deliver()
			e := c.controllers.tracked["apps"]
			evaluated := 0
			e.current.Factory.Adopting = true
			e.former, e.bits = nil, map[schema.GroupKind]uint64{}
			for gk, s := range e.current.Sources {
				s.Bit = 1 << 40 // which no parent wants
				e.current.Sources[gk] = s
			}
			e.current.Filter = running.NewFilter(e.current.Program, nil, func() {
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
	e.current.EachChild(func(s running.Source, o *object.Object) { e.current.Concerned(o, s.Kind.GroupKind()) })
}
