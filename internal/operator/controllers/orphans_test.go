package controllers

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestChildIsNotRecreatedForDeletedParent(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	parent := c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.controllers.patience = time.Hour
	c.RemoveNow(configMap("a")) // the watch of children is ahead
	wantRequests(t, "the child is gone", c.Run())
	c.RemoveNow(locationOf(parent))
	wantRequests(t, "the parent is gone", c.Run())
	if c.Find("configmaps", "a") != nil {
		t.Error("the child was made again for a parent that is gone")
	}
}

// An unavailable API keeps its objects, and after a restart it cannot be distinguished from one that was removed for
// good.
func TestChildrenAreKeptWhileParentKindIsUnserved(t *testing.T) {
	for why, restart := range map[string]bool{"since a moment ago": false, "since before the start": true} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			parent := c.Objects[one]
			c.Refuse["kind App"] = &kind.NotFoundError{GVK: parse(t, app).GroupVersionKind()}
			delete(c.Objects, one)
			if restart {
				c.start()
			}
			c.controllers.queue.Add("apps")
			wantRequests(t, "it goes away", c.Settle())
			const want = "False KindNotFound: the cluster does not serve kind App in example.org/v1: install its CustomResourceDefinition or APIService, or correct spec.watch; until then, children are kept"
			if got := c.Condition("templatecontrollers", "apps", "Watching"); got != want {
				t.Errorf("condition %q, want %q", got, want)
			}
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			c.controllers.enqueueAll(c.controllers.get("apps"))
			wantRequests(t, "after a minute", c.Settle())
			delete(c.Refuse, "kind App")
			c.Objects[one] = parent
			c.controllers.queue.Add("apps")
			wantRequests(t, "it is back", c.Settle())
		})
	}
}

// TestDeletionAfterStatusLoss: the TemplateController's own finalizer also shows that parents may have one.
func TestDeletionAfterStatusLoss(t *testing.T) {
	for name, spec := range map[string]string{
		"the spec needs the finalizer":        finalized(t),
		"the spec needs no finalizer anymore": apps,
	} {
		t.Run(name, func(t *testing.T) {
			c := settled(t, finalized(t))
			c.KubectlApply(spec)
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{"templater.dev/children"})
				_ = unstructured.SetNestedField(o.Object, false, "status", "finalizes")
			})
			c.KubectlDelete(appsController, metav1.DeletePropagationBackground)
			wantRequests(t, "it is deleted", c.Settle(), "status apps one", "list apps everywhere", releaseParent, "list apps everywhere", givenUp)
			if c.Objects[appsController] != nil {
				t.Error("the TemplateController is not gone")
			}
			if held := c.Objects[one].GetFinalizers(); len(held) > 0 {
				t.Errorf("the parent has the finalizers %v", held)
			}
		})
	}
}

// TestReleasedParentsAreFoundAfterStatusLoss: a parent that has stopped matching has a finalizer that no watch shows.
func TestReleasedParentsAreFoundAfterStatusLoss(t *testing.T) {
	for name, spec := range map[string]string{
		"the spec needs the finalizer":        frontOnly(t, finalized(t)),
		"the spec needs no finalizer anymore": frontOnly(t, apps),
	} {
		t.Run(name, func(t *testing.T) {
			c := settled(t, frontOnly(t, finalized(t)))
			for _, name := range []string{"a", "b"} {
				c.Remove(configMap(name)) // so that no child refers to the parent
			}
			stray := c.Objects[one].DeepCopy()
			stray.SetLabels(nil)
			c.Store(one, stray)
			c.KubectlApply(spec)
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{v1.FinalizerChildren})
				delete(o.Object, "status")
			})
			c.start()
			c.Settle()
			if held := c.Objects[one].GetFinalizers(); len(held) > 0 {
				t.Errorf("the parent that matches no longer has the finalizers %v", held)
			}
			wantRequests(t, "afterwards", c.Settle())
		})
	}
}
