package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// TestForgedChildrenAreIgnored copies all readable data of a child to an object with another name.
func TestForgedChildrenAreIgnored(t *testing.T) {
	showing := with(t, apps, "{{ len .children.maps }}", "{{ len .children.maps }}\n      texts: {{ range .observed.maps }}{{ .data.text }}{{ end }}")
	for why, row := range map[string]struct {
		manifest string
		do       func(*cluster)
		want     []string // sorted
	}{
		"the template yields the child no longer": {showing, func(c *cluster) { c.KubectlApply(newApp(withChildren("b"))) }, []string{"delete configmaps a", "status apps one"}},
		"all are made anew": {
			withTemplate(t, showing, "updateStrategy: {type: Recreate}"), func(c *cluster) { c.KubectlApply(newApp(withText("bye"))) },
			[]string{"delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one"},
		},
		"the TemplateController goes": {withSpec(t, showing, "whenDeleted: DeleteChildren"), func(c *cluster) { c.startDeletion() }, []string{"delete configmaps a", "delete configmaps b", "status apps one"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, row.manifest)
			before := c.ForgeCopy("a", "copy")
			wantRequests(t, "it appears", c.Run())
			if got := c.Condition("apps", "one", "Ready"); !strings.Contains(got, "True Ready") {
				t.Errorf("ready condition is %q", got)
			}
			if status, _, _ := unstructured.NestedMap(c.Find("apps", "one").Object, "status"); status["count"] != int64(2) && status["count"] != 2 || status["texts"] != "hellohello" {
				t.Errorf("status is %v", status)
			}
			row.do(c)
			requests := c.Run()
			slices.Sort(requests)
			wantRequests(t, why, requests, row.want...)
			if diff := cmp.Diff(before, c.Find("configmaps", "copy")); diff != "" {
				t.Errorf("the copy changed:\n%s", diff)
			}
		})
	}
}

// TestSealKeyRotation adds a key, waits, and removes the older one.
func TestSealKeyRotation(t *testing.T) {
	for _, strategy := range []string{"Apply", "Recreate", "CreateOnly", "OnDelete"} {
		t.Run(strategy, func(t *testing.T) {
			c := settled(t, reconciletest.WithStrategy(t, strategy))
			c.KubectlApply(with(t, reconciletest.WithStrategy(t, strategy), "name: maps", "name: maps\n    prunePolicy: Orphan"))
			c.KubectlApply(newApp(withChildren("b"))) // a is kept because of prunePolicy
			c.Settle()
			c.Keys = reconciletest.KeysOf(t, "1", "2")
			c.controllers.seals.Set(c.Keys)
			c.controllers.KeysChanged()
			requests := c.Settle()
			slices.Sort(requests)
			wantRequests(t, "there is a new key", requests, "mark configmaps a", "mark configmaps b")
			for _, name := range []string{"a", "b"} {
				if got := c.SealOf(name); !strings.HasPrefix(got, "2:") {
					t.Errorf("the seal of %s is %q", name, got)
				}
			}
			c.start()
			wantRequests(t, "after a restart", c.Settle())
			c.Keys = reconciletest.KeysOf(t, "2")
			c.start()
			wantRequests(t, "the older key is gone", c.Settle())
		})
	}
}

// TestUnsealedChildrenAreSealedOnce: after an upgrade, and when the keys are lost.
func TestUnsealedChildrenAreSealedOnce(t *testing.T) {
	for why, lose := range map[string]func(c *cluster){
		"an upgrade":   func(c *cluster) { c.StripSeals("a", "b") },
		"another key":  func(*cluster) {},
		"some of each": func(c *cluster) { c.StripSeals("a") },
	} {
		for strategy, verb := range map[string]string{"Apply": "update", "Recreate": "mark", "CreateOnly": "mark", "OnDelete": "mark"} {
			t.Run(why+", "+strategy, func(t *testing.T) {
				c := settled(t, reconciletest.WithStrategy(t, strategy))
				lose(c)
				c.RenewKeys("9")
				c.start()
				requests := c.Settle()
				slices.Sort(requests)
				wantRequests(t, "with the new key", requests, verb+" configmaps a", verb+" configmaps b")
				for _, name := range []string{"a", "b"} {
					if got := c.SealOf(name); !strings.HasPrefix(got, "9:") {
						t.Errorf("the seal of %s is %q", name, got)
					}
				}
				since, _, _ := unstructured.NestedString(c.Find("templatecontrollers", "apps").Object, "status", "sealedSince")
				if want := c.Keys.Since.UTC().Format(time.RFC3339); since != want {
					t.Errorf("status.sealedSince is %q, want %q", since, want)
				}
				c.start()
				wantRequests(t, "after a restart", c.Settle())

				c.StripSeals("a") // it is as old as before, but the adoption has ended
				c.start()
				c.Settle()
				if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildConflict") {
					t.Errorf("ready condition is %q", got)
				}
			})
		}
	}
}

// TestReconciliationBetweenKeyRenewalAndAdoption: an administrator vouches for all existing objects, and a
// reconciliation comes before the TemplateController is synced: only the sync allows adopting children without a seal.
func TestReconciliationBetweenKeyRenewalAndAdoption(t *testing.T) {
	c := settled(t, apps)
	c.RenewKeys("1")
	c.start()
	c.Settle()
	c.StripSeals("a")
	c.start()
	c.Settle()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False ChildConflict") {
		t.Fatalf("ready condition is %q", got)
	}
	keys := *c.Keys
	keys.Since = c.Clock.Now()
	c.Keys = &keys
	c.controllers.seals.Set(c.Keys)
	c.Reconcile("apps", "one")
	c.controllers.KeysChanged()
	c.Settle()
	if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "True") {
		t.Errorf("ready condition is %q", got)
	}
	if got := c.SealOf("a"); !strings.HasPrefix(got, "1:") {
		t.Errorf("the seal is %q", got)
	}
}

func TestSealingContinuesUntilAllChildrenAreSealed(t *testing.T) {
	c := settled(t, apps)
	c.StripSeals("a", "b")
	c.RenewKeys("9")
	c.start()
	c.Refuse["update configmaps a"] = errors.New("no answer")
	look := func() (since string) {
		c.Run()
		c.Deliver()
		c.controllers.queue.Add("apps")
		c.Run()
		since, _, _ = unstructured.NestedString(c.Find("templatecontrollers", "apps").Object, "status", "sealedSince")
		return since
	}
	if since := look(); since != "" || !strings.HasPrefix(c.SealOf("b"), "9:") {
		t.Errorf("one of two is sealed, the seal of the other is %q, and status.sealedSince is %q", c.SealOf("b"), since)
	}
	delete(c.Refuse, "update configmaps a")
	c.Settle()
	if since := look(); since == "" || !strings.HasPrefix(c.SealOf("a"), "9:") {
		t.Errorf("both are sealed, the seal of one is %q, and status.sealedSince is %q", c.SealOf("a"), since)
	}
}

func TestAdoptionContinuesWhileRejectedOrSuspended(t *testing.T) {
	c := settled(t, apps)
	e, next := c.controllers.tracked["apps"], c.controllers.get("apps")
	for why, row := range map[string]struct {
		a       assembly
		suspend bool
		want    bool
	}{
		"it is rejected":  {assembly{rejection: &spec.Rejection{}}, false, false},
		"it is suspended": {assembly{}, true, false},
		"it is followed":  {assembly{}, false, true},
	} {
		next.Factory.Adopting, next.Spec.Suspend = true, row.suspend
		if got := c.controllers.sealedSince(&v1.TemplateController{}, e, row.a, next); (got != nil) != row.want {
			t.Errorf("%s: all are sealed since %v", why, got)
		}
	}
}

func TestRunSyncsTemplateControllers(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() { c.controllers.Run(ctx, t.Context()); close(stopped) }()
	eventually(t, "the TemplateController is looked at", func() bool { return c.controllers.get("apps") != nil })
	cancel()
	<-stopped
}
