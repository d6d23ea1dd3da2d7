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
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

func TestTemplateControllerThatGoes(t *testing.T) {
	t.Run("Orphan leaves the children", func(t *testing.T) {
		c := newCluster(t)
		o := c.apply(apps)
		c.apply(app)
		c.run()
		c.gone(request.Location{Resource: v1.Resource, Name: o.GetName()})
		c.apply(with(t, app, "hello", "bye"))
		wantRequests(t, "gone", c.run(), "status apps one")
	})
	t.Run("Delete takes them, and keeps the TemplateController until they are gone", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
		c.apply(app)
		first := c.run()
		if first[0] != "finalizers[templater.dev/children] templatecontrollers apps" {
			t.Errorf("requests %v, want the finalizer first", first)
		}
		for _, name := range []string{"a", "b"} {
			c.edit(configMap(name), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
		}
		c.goes()
		got := c.run()
		slices.Sort(got)
		wantRequests(t, "deletion", got, "delete configmaps a", "delete configmaps b", "status apps one")
		c.gone(configMap("a"))
		wantRequests(t, "one is gone", c.run())
		c.gone(configMap("b"))
		wantRequests(t, "both are gone", c.run(), "finalizers[] templatecontrollers apps")
	})
	t.Run("while it is suspended, its children stay", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
		c.apply(app)
		c.run()
		c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n  suspend: true\n"))
		c.get("templatecontrollers", "apps").SetFinalizers([]string{v1.FinalizerChildren})
		c.run()
		c.goes()
		wantRequests(t, "deletion", c.run(), "finalizers[] templatecontrollers apps")
	})
}

// slowly is a Writer whose deletions take long.
type slowly struct {
	running.Client
	clock *clocktesting.FakePassiveClock
	took  time.Duration
}

func (w slowly) Delete(ctx context.Context, at request.Location, d request.Deletion) error {
	w.clock.SetTime(w.clock.Now().Add(w.took))
	return w.Client.Delete(ctx, at, d)
}

func TestDeletingManyChildrenGivesOthersTheirTurn(t *testing.T) {
	const children = 250
	for why, row := range map[string]struct {
		took time.Duration
		most int // in one look
	}{
		"many at a time":                   {0, deletionsAtATime},
		"few where each takes long":        {queue.Patience / 4, 4},
		"one at least, however slow it is": {time.Minute, 1},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
			c.apply(with(t, app, "[a, b]", "["+strings.Join(numbered(children), ", ")+"]"))
			c.run()
			c.goes()
			c.controllers.clusters = func(as string) running.Client { return slowly{c.as(as), c.clock, row.took} }
			looks := 0
			for c.controllers.queue.Len() > 0 {
				before := len(c.requests)
				c.controllers.next(t.Context(), t.Context(), func() {})
				deletions := slices.DeleteFunc(slices.Clone(c.requests[before:]), func(r string) bool { return !strings.HasPrefix(r, "delete ") })
				if n := len(deletions); n > row.most {
					t.Fatalf("%d deletions in one look, want at most %d", n, row.most)
				}
				c.controllersDue.release()
				looks++
			}
			if want := (children + row.most - 1) / row.most; looks < want {
				t.Errorf("%d looks, want %d at least", looks, want)
			}
			for _, name := range numbered(children) {
				if !slices.Contains(c.requests, "delete configmaps "+name) {
					t.Fatalf("%s was not deleted", name)
				}
			}
		})
	}
}

// numbered returns that many names.
func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint("x", i)
	}
	return out
}

func TestWhatTheServerDoesNotDeleteKeepsNothingElseFromGoing(t *testing.T) {
	const children = 3 * deletionsAtATime
	c := newCluster(t)
	c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
	c.apply(with(t, app, "[a, b]", "["+strings.Join(numbered(children), ", ")+"]"))
	c.run()
	for _, name := range numbered(children)[:2*deletionsAtATime] {
		c.refuse["delete configmaps "+name] = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, errors.New("a webhook"))
	}
	c.goes()
	for range 1000 {
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
		c.run()
		if c.get("configmaps", "x299") == nil && c.get("configmaps", "x200") == nil {
			return
		}
	}
	t.Error("what can be deleted is there still")
}

func TestTemplateControllerThatGoesIsLookedAtAgainWhileItMayNotRead(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
	c.apply(app)
	c.settle()
	for want := range c.caches {
		if want.Role == watch.Child {
			c.caches[want] = failing(t, want, denial("", "list", "configmaps", "at the cluster scope"))
			c.silent[want] = true
		}
	}
	c.goes()
	clear(c.controllersDue.due)
	c.run()
	if wait := c.controllersDue.due["apps"].Sub(c.clock.Now()); wait != permissions.BelievedFor {
		t.Errorf("looked at again after %v, want %v", wait, permissions.BelievedFor)
	}
}

func TestNothingIsAskedWhileTheLastChildrenGo(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
	c.apply(with(t, app, "[a, b]", "[a]"))
	c.settle()
	c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.goes()
	c.settle()
	c.fail("templatecontrollers", errors.New("no answer"))
	if err := c.controllers.Sync(t.Context(), "apps"); err != nil {
		t.Errorf("%v, though there is nothing to delete", err)
	}
}

func TestOwnFinalizersAreKnownBeforeTheWatchTells(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "name: apps", "name: apps, finalizers: [example.org/x]", "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
	c.run()
	c.deliver()
	c.run()
	c.goes()
	wantRequests(t, "a deletion that waits for somebody else", c.run(), "finalizers[example.org/x] templatecontrollers apps")
	c.controllers.queue.Add("apps")
	wantRequests(t, "before the watch tells of it", c.run())
}

func TestChildrenStayWithoutThePolicyOrTheFinalizer(t *testing.T) {
	const deletes = "spec:\n  whenDeleted: DeleteChildren\n"
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
		c := newCluster(t)
		c.apply(with(t, apps, "spec:\n", deletes))
		c.apply(app)
		c.settle()
		going := c.get("templatecontrollers", "apps").DeepCopy()
		row.edit(c, going)
		now := metav1.NewTime(c.clock.Now())
		going.SetDeletionTimestamp(&now)
		c.Store(appsController, going)
		c.deliver()
		wantRequests(t, why, c.run(), row.want...)
	}
}

func TestFinalizerGoesWithThePolicy(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
	c.run()
	c.deliver()
	c.run()
	c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: OrphanChildren\n"))
	wantRequests(t, "another policy: its finalizer may be there for parents", c.settle(), "list apps everywhere", "finalizers[] templatecontrollers apps")
	wantRequests(t, "afterwards", c.settle())
}
