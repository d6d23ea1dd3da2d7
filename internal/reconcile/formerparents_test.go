package reconcile_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

func TestChildrenAreLeftToGarbageCollectorAtFirst(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.RemoveNow(locationOf(parse(t, app)))
	wantRequests(t, "deletion of the parent", c.Run())
	result, _ := c.Reconcile("apps", "one")
	if result.After <= 0 || result.After > queue.CollectorTime {
		t.Errorf("looks again after %v, want at most %v", result.After, queue.CollectorTime)
	}
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	_, requests := c.Reconcile("apps", "one")
	wantRequests(t, "after a minute", requests, "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "after that", requests)
}

// While a kind is not served, it is unknown whether it is namespaced.
func TestOutdatedKeyDoesNotDeleteChildren(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	key := queue.Key{Controller: "apps", Parent: types.NamespacedName{Name: "one"}}
	for _, when := range []string{"at once", "after a minute"} {
		before := len(c.Requests)
		result := c.Reconciler.Reconcile(t.Context(), key)
		wantRequests(t, when, c.Requests[before:])
		if result != (reconcile.Result{Outcome: result.Outcome}) {
			t.Errorf("%s: the key comes again: %+v", when, result)
		}
		c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	}
}

// The garbage collector mistakes a parent for its predecessor if it misses the time between the two.
func TestUnlabeledChildOfEarlierParentIsDeleted(t *testing.T) {
	owned := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	for why, row := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   []string // requests after a minute
	}{
		"it is ours": {owned, []string{"create configmaps a", "get configmaps a", "get apps one", "delete configmaps a"}},
		"it has another owner": {func(o *unstructured.Unstructured) {
			owned(o)
			o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "x"}))
		}, []string{"create configmaps a", "get configmaps a", "get apps one"}},
		"somebody else's work": {func(o *unstructured.Unstructured) { owned(o); o.SetAnnotations(nil); o.SetUID("theirs") }, []string{"create configmaps a", "get configmaps a"}},
		"of a parent of that name in another group": {func(o *unstructured.Unstructured) {
			owned(o)
			refs := o.GetOwnerReferences()
			refs[0].APIVersion = "other.example.org/v1"
			o.SetOwnerReferences(refs)
		}, []string{"create configmaps a", "get configmaps a"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(newApp(withChildren("a")))
			c.Run()
			hidden := c.Find("configmaps", "a").DeepCopy()
			row.change(hidden)
			c.RemoveNow(locationOf(parse(t, app)))
			c.Store(configMap("a"), hidden)
			c.KubectlApply(newApp(withChildren("a")))
			parent := c.Find("apps", "one").DeepCopy()
			parent.SetUID("uid-next")
			c.Store(locationOf(parent), parent)
			c.Deliver()
			c.Run()
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, "at once", requests, "create configmaps a", "get configmaps a")
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			_, requests = c.Reconcile("apps", "one")
			wantRequests(t, "after a minute", requests, row.want...)
		})
	}
}

// After a failure of the parents' watch, a child may be known before its parent.
func TestChildOfNewerParentIsNotOrphan(t *testing.T) {
	for why, row := range map[string]struct {
		parent types.UID // in the API server
		fault  error     // error of the request for the parent
		want   []string
	}{
		"there is a later parent":        {"uid-later", nil, nil},
		"the parent cannot be asked for": {"uid-one", errors.New("no answer"), nil},
		"it is an earlier one's":         {"uid-one", nil, []string{"delete configmaps a"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(newApp(withChildren("b")))
			c.Run()
			c.Deliver()
			one := c.Find("apps", "one")
			c.stray(one, "uid-later")
			c.Run()
			one = one.DeepCopy()
			one.SetUID(row.parent)
			c.Objects[locationOf(one)] = one // not delivered by the watch
			c.Refuse["get apps one"] = row.fault
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			_, requests := c.Reconcile("apps", "one")
			wantRequests(t, "after a minute", requests, append([]string{"get apps one"}, row.want...)...)
		})
	}
}

// stray creates a ConfigMap that belongs to another object with the parent's name and that UID.
func (c *cluster) stray(parent *unstructured.Unstructured, owner types.UID) {
	c.T.Helper()
	controller := metav1.NewControllerRef(parent, parent.GroupVersionKind())
	controller.UID = owner
	child := parse(c.T, "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a, labels: {templater.dev/controller: apps, templater.dev/child: data}}}")
	child.SetOwnerReferences([]metav1.OwnerReference{*controller})
	child.SetLabels(reconciletest.Plus(child.GetLabels(), v1.LabelParentUID, string(owner)))
	c.Seal(child)
	c.Store(configMap("a"), child)
	c.Deliver()
}

func TestOrphanDeletionIsRetried(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withSpec(t, apps, "resyncPeriod: 5s"))
	c.KubectlApply(newApp(withChildren("b")))
	c.Run()
	c.Deliver()
	one := c.Find("apps", "one")
	c.stray(one, "uid-earlier")
	result, _ := c.Reconcile("apps", "one")
	if result.Retry != problem.RetryOnChange || result.After < 5*time.Second || result.After > 6*time.Second {
		t.Errorf("it is looked at again as %+v, want as resyncPeriod says", result)
	}
	c.Refuse["delete configmaps a"] = errors.New("no answer")
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "after a minute", requests, "get apps one", "delete configmaps a")
	if result.Retry != problem.RetryBackoff {
		t.Errorf("it is tried again as %+v, want with backoff", result)
	}
	clear(c.Refuse)
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "then", requests, "get apps one", "delete configmaps a")
}

func TestNoLongerMatchesEventMentionsKeptChildren(t *testing.T) {
	kept := strings.Replace(apps, "  - name: maps\n", "  - name: kept\n    prunePolicy: Orphan\n    template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}}'\n  - name: maps\n", 1)
	c := newCluster(t)
	c.KubectlApply(frontOnly(t, kept))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(newApp(withTier("back")))
	c.Settle()
	if want := "one Normal NoLongerMatches: TemplateController apps no longer selects this object: its children were deleted, except those with prunePolicy: Orphan"; !slices.Contains(c.Events, want) {
		t.Errorf("Events: %v, want %q", c.Events, want)
	}
}

func TestUnmatchedParentLosesChildren(t *testing.T) {
	selective := frontOnly(t, apps)
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(selective)
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.KubectlApply(newApp(withTier("back")))
			if restart {
				c.start()
			}
			wantRequests(t, "label gone", c.Run(), "get apps one", "delete configmaps a", "delete configmaps b")
			c.Deliver()
			wantRequests(t, "again", c.Run())
			if !slices.Contains(c.Events, "one Normal NoLongerMatches: TemplateController apps no longer selects this object: its children were deleted") {
				t.Errorf("Events: %v", c.Events)
			}
		})
	}
	t.Run("Orphan keeps them", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(with(t, selective, "    template: |\n      {{ range", "    prunePolicy: Orphan\n    template: |\n      {{ range"))
		c.KubectlApply(app)
		c.Run()
		c.Deliver()
		c.KubectlApply(newApp(withTier("back")))
		wantRequests(t, "label gone", c.Run(), "get apps one")
		if len(c.Events) > 0 {
			t.Errorf("nothing is lost; Events: %v", c.Events)
		}
	})
	t.Run("a parent that is gone leaves them to the garbage collector", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(selective)
		c.KubectlApply(app)
		c.Run()
		c.Deliver()
		c.RemoveNow(locationOf(parse(t, app)))
		wantRequests(t, "gone", c.Run(), "get apps one")
	})
}

func TestUnmatchedReplacementParentLeavesNoOrphans(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(frontOnly(t, apps))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Remove(locationOf(parse(t, app)))
	next := c.KubectlApply(newApp(withTier("back")))
	next.SetUID("uid-next")
	wantRequests(t, "at once", c.Run(), "get apps one")
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime / 2))
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "while they are the garbage collector's", requests, "get apps one")
	if want := (reconcile.Result{After: queue.CollectorTime / 2, Outcome: record.Waiting}); result != want {
		t.Errorf("got %+v, want %+v", result, want)
	}
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime / 2))
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "after a minute", requests, "get apps one", "delete configmaps a", "delete configmaps b")
	_, requests = c.Reconcile("apps", "one")
	wantRequests(t, "after that", requests)
	if len(c.Events) > 0 {
		t.Errorf("the new parent has lost nothing; Events: %v", c.Events)
	}
}

// The API server returns 404 for a missing object, and for all objects of a resource that it does not serve.
func TestUnservedResourceIsNotMissingParent(t *testing.T) {
	c := left(t, reconciletest.WatchFront)
	c.Refuse["get apps one"] = reconciletest.Unserved(one)
	c.Reconcile("apps", "one")
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "after a minute", requests, "get apps one")
	if result.Retry != problem.RetryBackoff {
		t.Errorf("retry %v, want %v", result.Retry, problem.RetryBackoff)
	}
}
