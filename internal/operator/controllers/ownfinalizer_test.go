package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestTemplateControllerDeletion(t *testing.T) {
	t.Run("Orphan leaves the children", func(t *testing.T) {
		c := newCluster(t)
		o := c.KubectlApply(apps)
		c.KubectlApply(app)
		c.Run()
		c.RemoveNow(request.Location{Resource: v1.Resource, Name: o.GetName()})
		c.KubectlApply(newApp(withText("bye")))
		wantRequests(t, "gone", c.Run(), "status apps one")
	})
	t.Run("DeleteChildren keeps the TemplateController until its children are deleted", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
		c.KubectlApply(app)
		first := c.Run()
		if first[0] != "finalizers[templater.dev/children] templatecontrollers apps" {
			t.Errorf("requests %v, want the finalizer first", first)
		}
		for _, name := range []string{"a", "b"} {
			c.KubectlEdit(configMap(name), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
		}
		c.startDeletion()
		got := c.Run()
		slices.Sort(got)
		wantRequests(t, "deletion", got, "delete configmaps a", "delete configmaps b", "status apps one")
		c.RemoveNow(configMap("a"))
		wantRequests(t, "one is gone", c.Run())
		c.RemoveNow(configMap("b"))
		wantRequests(t, "both are gone", c.Run(), "finalizers[] templatecontrollers apps")
	})
	t.Run("while it is suspended, its children stay", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
		c.KubectlApply(app)
		c.Run()
		c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren", "suspend: true"))
		c.Find("templatecontrollers", "apps").SetFinalizers([]string{v1.FinalizerChildren})
		c.Run()
		c.startDeletion()
		wantRequests(t, "deletion", c.Run(), "finalizers[] templatecontrollers apps")
	})
}

// slowly is a Client whose deletions take long.
type slowly struct {
	controller.Client
	clock *clocktesting.FakePassiveClock
	took  time.Duration
}

func (w slowly) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	w.clock.SetTime(w.clock.Now().Add(w.took))
	return w.Client.Delete(ctx, at, d)
}

func TestDeletionOfManyChildrenIsBatched(t *testing.T) {
	const children = 250
	for why, row := range map[string]struct {
		took time.Duration
		most int // per sync
	}{
		"many at a time":                   {0, deletion.DeletionsAtATime},
		"few where each takes long":        {queue.Patience / 4, 4},
		"one at least, however slow it is": {time.Minute, 1},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
			c.KubectlApply(with(t, app, "[a, b]", "["+strings.Join(numbered(children), ", ")+"]"))
			c.Run()
			c.startDeletion()
			c.through(func(client controller.Client) controller.Client { return slowly{client, c.Clock, row.took} })
			looks := 0
			for c.controllers.queue.Len() > 0 {
				before := len(c.Requests)
				c.controllers.next(t.Context(), t.Context(), func() {})
				deletions := slices.DeleteFunc(slices.Clone(c.Requests[before:]), func(r string) bool { return !strings.HasPrefix(r, "delete ") })
				if n := len(deletions); n > row.most {
					t.Fatalf("%d deletions in one look, want at most %d", n, row.most)
				}
				c.ControllerQueue.Release()
				looks++
			}
			if want := (children + row.most - 1) / row.most; looks < want {
				t.Errorf("%d looks, want %d at least", looks, want)
			}
			for _, name := range numbered(children) {
				if !slices.Contains(c.Requests, "delete configmaps "+name) {
					t.Fatalf("%s was not deleted", name)
				}
			}
		})
	}
}

// numbered returns n names.
func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("x", i)
	}
	return out
}

func TestRejectedDeletionsDoNotBlockOthers(t *testing.T) {
	const children = 3 * deletion.DeletionsAtATime
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(with(t, app, "[a, b]", "["+strings.Join(numbered(children), ", ")+"]"))
	c.Run()
	for _, name := range numbered(children)[:2*deletion.DeletionsAtATime] {
		c.Refuse["delete configmaps "+name] = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("a webhook"))
	}
	c.startDeletion()
	for range 1000 {
		c.Clock.SetTime(c.Clock.Now().Add(time.Minute))
		c.Run()
		if c.Find("configmaps", "x299") == nil && c.Find("configmaps", "x200") == nil {
			return
		}
	}
	t.Error("what can be deleted is there still")
}

func TestDeletionIsRetriedWhileListIsForbidden(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(app)
	c.Settle()
	for want := range c.Caches {
		if want.Role == watch.Child {
			c.Caches[want] = reconciletest.FailedCache(t, want, denial("", "list", "configmaps", "at the cluster scope"))
			c.Silent[want] = true
		}
	}
	c.startDeletion()
	c.ControllerQueue.Drop()
	c.Run()
	if wait := c.ControllerQueue.Wait("apps"); wait != permissions.CacheTTL {
		t.Errorf("looked at again after %v, want %v", wait, permissions.CacheTTL)
	}
}

func TestTeardownSendsNoRequestsWhileChildrenTerminate(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(newApp(withChildren("a")))
	c.Settle()
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.startDeletion()
	c.Settle()
	c.FailWatches("templatecontrollers", errors.New("no answer"))
	if err := c.controllers.Sync(t.Context(), "apps"); err != nil {
		t.Errorf("%v, though there is nothing to delete", err)
	}
}

func TestOwnFinalizerWritesAreVisibleBeforeWatchEvent(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, withSpec(t, apps, "whenDeleted: DeleteChildren"), "name: apps", "name: apps, finalizers: [example.org/x]"))
	c.Run()
	c.Deliver()
	c.Run()
	c.startDeletion()
	wantRequests(t, "a deletion that waits for somebody else", c.Run(), "finalizers[example.org/x] templatecontrollers apps")
	c.controllers.queue.Add("apps")
	wantRequests(t, "before the watch tells of it", c.Run())
}

func TestChildrenAreKeptWithoutPolicyOrFinalizer(t *testing.T) {
	for why, row := range map[string]struct {
		edit func(c *cluster, o *unstructured.Unstructured)
		want []string
	}{
		"somebody has taken the finalizer": {
			func(_ *cluster, o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/x"}) }, []string{"status apps one"},
		},
		"the policy was changed at the end": {
			func(_ *cluster, o *unstructured.Unstructured) {
				unstructured.RemoveNestedField(o.Object, "spec", "whenDeleted")
			}, []string{"status apps one", "list apps everywhere", "finalizers[] templatecontrollers apps"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
			c.KubectlApply(app)
			c.Settle()
			going := c.Find("templatecontrollers", "apps").DeepCopy()
			row.edit(c, going)
			now := metav1.NewTime(c.Clock.Now())
			going.SetDeletionTimestamp(&now)
			c.Store(appsController, going)
			c.Deliver()
			wantRequests(t, why, c.Run(), row.want...)
		})
	}
}

func TestOrphanPolicyRemovesFinalizer(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.Run()
	c.Deliver()
	c.Run()
	c.KubectlApply(withSpec(t, apps, "whenDeleted: OrphanChildren"))
	wantRequests(t, "another policy: its finalizer may be there for parents", c.Settle(), "list apps everywhere", "finalizers[] templatecontrollers apps")
	wantRequests(t, "afterwards", c.Settle())
}

func TestReplacedChildDoesNotBlockDeletion(t *testing.T) {
	c := deletedWithChildren(t, apps, "", false)
	c.Remove(configMap("b"))
	other := parse(t, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: b}}")
	other.SetUID("uid-other")
	c.Store(configMap("b"), other) // not delivered by the watch
	wantRequests(t, "it goes", c.Run(), "status apps one", "delete configmaps a", "delete configmaps b", "get configmaps b", "delete configmaps b", "get configmaps b")
	if got := c.Condition("templatecontrollers", "apps", "Ready"); got != "False Deleting: being deleted: waiting for its children to be deleted: ConfigMap ns/a; ConfigMap ns/b; if one is stuck, check its metadata.finalizers" {
		t.Errorf("ready condition %q, want no refusal", got)
	}
	wantRequests(t, "the watches tell", c.Settle(), "finalizers[] templatecontrollers apps")
	if c.Find("configmaps", "b") == nil {
		t.Error("an object of somebody else was deleted")
	}
}

func TestDeletedControllerKeepsChildrenOfSuspendedParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	c.KubectlApply(newApp(withChildren("a")))
	c.PutWithUID(newApp(withName("two"), withChildren("b")), "uid-two")
	c.Settle()
	c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{v1.AnnotationSuspend: "true"}) })
	c.Settle()
	c.KubectlDelete(appsController, metav1.DeletePropagationBackground)
	c.Settle()
	if c.Find("configmaps", "a") == nil || c.Find("configmaps", "b") != nil || c.Find("templatecontrollers", "apps") != nil {
		t.Error("a child of the suspended parent is deleted, or another one or the TemplateController is left")
	}
	if got, want := c.Condition("apps", "one", "Ready"), "Unknown TemplateControllerDeleted: TemplateController apps was deleted, so this object is no longer reconciled; its children are kept"; got != want {
		t.Errorf("ready condition\n%s, want\n%s", got, want)
	}
}
