package reconcile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// left returns a cluster with a parent that its TemplateController no longer selects, before it is reconciled.
func left(t *testing.T, watched string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.StopMatching(watched)
	return c
}

// TestParentsInUnselectedNamespaceLoseChildren removes the label that the namespaceSelector selects. The watch of Namespaces delivers that, and
// nothing afterwards.
func TestParentsInUnselectedNamespaceLoseChildren(t *testing.T) {
	ns := request.Location{Resource: controller.Namespaces, Name: "ns"}
	for why, row := range map[string]struct {
		then  func(*cluster)
		want  []string
		retry problem.Retry
	}{
		"its label is gone": {func(*cluster) {}, []string{"get apps one", "list namespaces ns", "delete configmaps a", "delete configmaps b"}, problem.RetryOnChange},
		"its label is back": {func(c *cluster) {
			c.KubectlEdit(ns, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "red"}) })
		}, []string{"get apps one", "list namespaces ns"}, problem.RetrySoon},
		"the server does not answer": {func(c *cluster) {
			c.Refuse["list namespaces ns"] = errors.New("no answer")
		}, []string{"get apps one", "list namespaces ns"}, problem.RetryBackoff},
		"Namespaces may not be listed": {func(c *cluster) {
			c.Refuse["list namespaces ns"] = reconciletest.Denial("templater", "list", "namespaces", "at the cluster scope")
		}, []string{"get apps one", "list namespaces ns"}, problem.RetryBackoff},
		"the label of the parent is gone, too, so that nobody is asked about the namespace": {func(c *cluster) {
			c.KubectlEdit(reconciletest.AppAt("one"), func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "back"}) })
		}, []string{"get apps one", "delete configmaps a", "delete configmaps b"}, problem.RetryOnChange},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply("{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}")
			c.KubectlApply(withWatch(t, apps, "namespaceSelector: {matchLabels: {team: red}}, labelSelector: {matchLabels: {tier: front}}"))
			c.KubectlApply(app)
			c.Settle()
			c.KubectlEdit(ns, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
			for want := range c.Caches {
				c.Silent[want] = want.Role == watch.Namespace
			}
			reconciletest.Take(c.ParentQueue)
			row.then(c)
			reconciletest.Take(c.ParentQueue)
			result, requests := c.Reconcile("apps", "one")
			wantRequests(t, why, requests, row.want...)
			if result.Retry != row.retry {
				t.Errorf("retry %v, want %v", result.Retry, row.retry)
			}
		})
	}
}

func TestOnlyOwnOrphansAreDeletedWithoutParent(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*cluster)
		want   []string
		retry  problem.Retry
	}{
		"a child": {func(*cluster) {}, []string{"get apps one", "delete configmaps a"}, problem.RetryOnChange},
		"one whose only owner does not control it is somebody else's": {func(c *cluster) {
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
				refs := o.GetOwnerReferences()
				refs[0].Controller = nil
				o.SetOwnerReferences(refs)
				o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationParent, "one"))
				c.Seal(o)
			})
		}, []string{"get apps one"}, problem.RetryOnChange},
		"one that cannot be deleted": {func(c *cluster) {
			c.Refuse["delete configmaps a"] = errors.New("no answer")
		}, []string{"get apps one", "delete configmaps a"}, problem.RetryBackoff},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, reconciletest.WatchFront)
			row.change(c)
			c.RemoveNow(locationOf(c.Find("apps", "one")))
			c.Reconcile("apps", "one")
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			result, requests := c.Reconcile("apps", "one")
			wantRequests(t, why, requests, row.want...)
			if n := reconciletest.Lengths(t, c.shared.Absences, "since"); result.Retry != row.retry || n > 0 != (row.retry == problem.RetryBackoff) {
				t.Errorf("retry %v, want %v; %d parents count as absent", result.Retry, row.retry, n)
			}
		})
	}
}

// A deletion with --cascade=orphan removes the owner references of the children, and the parent is deleted, before the watch of the children
// delivers that.
func TestStaleChildWatchDoesNotDeleteOrphans(t *testing.T) {
	for why, row := range map[string]struct {
		failure error
		want    []string
	}{
		"the watch is behind":  {nil, []string{"get apps one", "delete configmaps a", "get configmaps a"}},
		"the watch has failed": {errors.New("no answer"), nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, reconciletest.WatchFront)
			for want, cache := range c.Caches {
				if want.Role == watch.Child {
					c.Silent[want] = true
					if row.failure != nil {
						cache.Fail(row.failure)
					}
				}
			}
			c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
			c.RemoveNow(locationOf(c.Find("apps", "one")))
			c.Reconcile("apps", "one")
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, why, requests, row.want...)
			clear(c.Silent)
			for want, cache := range c.Caches {
				if want.Role == watch.Child && row.failure != nil {
					reconciletest.Resume(t, cache)
				}
			}
			c.Deliver()
			c.Settle()
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			c.Settle()
			if c.Find("configmaps", "a") == nil {
				t.Error("the child is deleted")
			}
		})
	}
}

func TestOutdatedKeyAfterScopeChange(t *testing.T) {
	for why, row := range map[string]struct {
		c         controller.Controller
		namespace string
		want      bool
	}{
		"a key from then":                        {namespaced(), "", true},
		"a key of now":                           {namespaced(), "ns", false},
		"the kind has no namespaces in any case": {controller.Controller{}, "", false},
	} {
		t.Run(why, func(t *testing.T) {
			if got := row.c.OutdatedKey(queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: row.namespace, Name: "one"}}); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func namespaced() (c controller.Controller) {
	c.Kind.Namespaced = true
	return c
}

func TestLeftBehindFindsOrphanedChildren(t *testing.T) {
	owned := func(*unstructured.Unstructured) {}
	orphan := func(o *unstructured.Unstructured) {
		o.SetOwnerReferences(nil)
		o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationParent, "one"))
	}
	ending := func(o *unstructured.Unstructured) {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"example.org/slow"})
	}
	for why, row := range map[string]struct {
		watched string
		child   func(*unstructured.Unstructured)
		want    int
	}{
		"its own":                   {"kind: App}", owned, 1},
		"one that is being deleted": {reconciletest.WatchFront, ending, 0},
		"one that outlives it, where all are parents": {"kind: App}", orphan, 0},
		"one that outlives it, where it may be there": {reconciletest.WatchFront, orphan, 1},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, row.watched)
			c.KubectlEdit(configMap("a"), row.child)
			running := *c.controllers.get("apps")
			if got := running.LeftBehind(queue.Key{Controller: "apps", Parent: configMapName("one")}); len(got) != row.want {
				t.Errorf("%d are left behind, want %d", len(got), row.want)
			}
		})
	}
}

func TestOrphansOfEarlierParentAreDeleted(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*cluster)
		want   []string // requests after a minute
		after  bool     // whether to check again
	}{
		"they go":                    {func(*cluster) {}, []string{"get apps one", "delete configmaps b"}, false},
		"the parent is gone, too":    {func(c *cluster) { c.Remove(locationOf(c.Find("apps", "one"))) }, []string{"get apps one"}, true},
		"the server does not answer": {func(c *cluster) { c.Refuse["get apps one"] = errors.New("no answer") }, []string{"get apps one"}, true},
		"one that is being deleted needs no help": {func(c *cluster) {
			c.KubectlEdit(configMap("b"), func(o *unstructured.Unstructured) {
				now := metav1.Now()
				o.SetDeletionTimestamp(&now)
				o.SetFinalizers([]string{"example.org/slow"})
			})
		}, nil, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(newApp(withChildren("a")))
			c.Settle()
			stray := c.Find("configmaps", "a").DeepCopy()
			stray.SetName("b")
			stray.SetUID("stray")
			refs := stray.GetOwnerReferences()
			refs[0].UID = "earlier"
			stray.SetOwnerReferences(refs)
			labels := stray.GetLabels()
			labels[v1.LabelParentUID] = "earlier"
			stray.SetLabels(labels)
			c.Seal(stray)
			c.Store(configMap("b"), stray)
			c.Deliver()
			c.Run()
			row.change(c)
			c.Reconcile("apps", "one")
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			result, requests := c.Reconcile("apps", "one")
			requests = slices.DeleteFunc(requests, func(r string) bool { return strings.HasPrefix(r, "status") })
			wantRequests(t, why, requests, row.want...)
			if result.After == queue.CollectorTime != row.after {
				t.Errorf("looks again after %v", result.After)
			}
			if n := reconciletest.Lengths(t, c.shared.Absences, "since"); !row.after && n > 0 {
				t.Errorf("%d parents count as absent", n)
			}
		})
	}
}

func TestRematchingParentLeavesTheDeletionQueue(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	key := queue.Key{Controller: "apps", Parent: configMapName("one")}
	c.shared.Absences.Left(key)
	reconciletest.InLine(c.shared.Pacer, key)
	if n := reconciletest.Lengths(t, c.shared.Pacer, "lines.apps.places"); n != 1 {
		t.Fatalf("%d stand in line, want 1", n)
	}
	c.Reconcile("apps", "one")
	if n := reconciletest.Lengths(t, c.shared.Absences, "since") + reconciletest.Lengths(t, c.shared.Pacer, "lines.apps.places"); n > 0 {
		t.Errorf("%d things are remembered of its absence", n)
	}
}
