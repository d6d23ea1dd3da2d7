package controllers

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// remember sets all state that is kept for a parent.
func (c *cluster) remember(key queue.Key) {
	c.T.Helper()
	c.controllers.events.Fresh(key, "bad")
	c.controllers.events.Faults(key, "x", []string{"bad"})
	c.shared.Breaker.Wrote(key, queue.Generations{}, queue.Written{Children: true})
	c.shared.Absences.Left(key)
	c.shared.Orphaning.Note(key, "uid-one")
	c.shared.Attempts.Begin(key, queue.Attempt{Parent: "uid-one"})
	reconciletest.InLine(c.shared.Pacer, key)
}

// remembered returns the non-empty state of parents of the controller apps.
func (c *cluster) remembered(t *testing.T) map[string]int {
	t.Helper()
	e := c.controllers.tracked["apps"]
	out := map[string]int{
		"counts": len(e.counts.ByParent), "breaker": lengths(t, c.shared.Breaker, "spent"), "events": lengths(t, c.controllers.events, "last", "faults"),
		"absences": lengths(t, c.shared.Absences, "since"), "orphaning": lengths(t, c.shared.Orphaning, "parents"), "attempts": lengths(t, c.shared.Attempts, "since"), "paces": lengths(t, c.shared.Pacer, "lines.apps.places"),
		"logs": lengths(t, c.controllers.logs, "parents", "logs"),
	}
	for _, index := range e.indexes {
		out["related"] += lengths(t, index, "parents")
	}
	for what, n := range out {
		if n == 0 {
			delete(out, what)
		}
	}
	return out
}

func TestParentStateIsDroppedWhenKindIsRemoved(t *testing.T) {
	for why, manifest := range map[string]string{"with a finalizer": withSpec(t, reporters, "finalize: {order: Reverse}"), "without": reporters} {
		for _, ends := range []bool{true, false} {
			t.Run(fmt.Sprint(why, ", its definition ends before it goes: ", ends), func(t *testing.T) {
				c := newCluster(t)
				c.Logs.Set("ns/a/main", "no disk\n", nil)
				c.KubectlApply(reconciletest.PodOf("a", "1", 3))
				c.KubectlApply(manifest)
				c.KubectlApply(app)
				c.SettleLogs()
				key := queue.Key{Controller: "apps", Parent: configMapName("one")}
				c.remember(key)
				if got := c.remembered(t); len(got) != 9 {
					t.Fatalf("what is remembered before: %v", got)
				}
				of := reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "App"}]
				if ends {
					c.Refuse["kind App"] = &kind.NotFoundError{Definition: "apps.example.org", CRDTerminating: true, Terminating: &of}
					c.controllers.kindChanged(of.GroupKind())
					c.Settle()
				}
				c.KubectlDelete(one, metav1.DeletePropagationBackground)
				c.Settle()
				c.Refuse["kind App"] = &kind.NotFoundError{}
				c.remember(key) // as a running reconciliation may do
				c.controllers.kindChanged(of.GroupKind())
				c.Settle()
				if got := c.remembered(t); len(got) > 0 {
					t.Errorf("what is remembered: %v", got)
				}
				if c.controllers.get("apps") == nil {
					t.Error("the controller has stopped")
				}
			})
		}
	}
}

// A parent that is deleted while only deletions are reconciled leaves no state.
func TestParentStateIsDroppedWhileSpecIsInvalid(t *testing.T) {
	c := settled(t, finalized(t))
	c.KubectlApply(with(t, finalized(t), "{{ end }}", ""))
	c.Settle()
	c.remember(queue.Key{Controller: "apps", Parent: configMapName("one")})
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Settle()
	if got := c.remembered(t); len(got) > 0 {
		t.Errorf("what is remembered: %v", got)
	}
}

// State that a running reconciliation records is dropped, too.
func TestStateIsDroppedAfterRunningReconciliations(t *testing.T) {
	key := queue.Key{Controller: "apps", Parent: configMapName("one")}
	for why, forget := range map[string]func(c *cluster) error{
		"the TemplateController is deleted": func(c *cluster) error { return c.controllers.forget(t.Context(), "apps") },
		"the kind is gone": func(c *cluster) error {
			c.controllers.forgetParents(t.Context(), "apps", c.controllers.tracked["apps"])
			return nil
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.Run()
			_, leave := c.controllers.Enter("apps")
			done := make(chan error)
			go func() { done <- forget(c) }()
			eventually(t, "no reconciliation begins", func() bool { return c.controllers.get("apps") == nil })
			c.remember(key)
			leave()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if c.shared.Breaker.Knows(key) || c.shared.Orphaning.Has(key, "uid-one") {
				t.Error("something is remembered")
			}
		})
	}
}
