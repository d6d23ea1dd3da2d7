package controllers

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// left has a parent that its TemplateController selects no more, before anybody has looked at it.
func left(t *testing.T, watched string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.apply(with(t, apps, "kind: App}", watched))
	c.apply(with(t, app, "[a, b]", "[a]"))
	c.run()
	c.deliver()
	c.run()
	c.apply(with(t, app, "[a, b]", "[a]", "tier: front", "tier: back"))
	take(c.parentsDue)
	return c
}

// superseded has the operator as one that has just begun to lead, while the server has a newer TemplateController.
func (c *cluster) superseded() {
	c.controllers.led.Store(true)
	c.controllers.tracked["apps"].confirmed = false
	newer := c.Objects[appsController].DeepCopy()
	newer.SetGeneration(newer.GetGeneration() + 1)
	c.Store(appsController, newer)
}

func TestWhatBecomesOfAParentThatLeaves(t *testing.T) {
	denied := answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	const byField = "kind: App, labelSelector: {matchLabels: {tier: front}}, fieldSelector: metadata.name=one}"
	for why, row := range map[string]struct {
		watched  string
		change   func(*cluster)
		retry    problem.Retry
		requests []string
		events   []string
	}{
		"its children go": {
			front, func(*cluster) {}, problem.RetryOnChange, []string{"get apps one", "delete configmaps a"},
			[]string{"one Normal Leaving: TemplateController apps no longer selects this object: its children are deleted"},
		},
		"the server does not answer": {
			front, func(c *cluster) { c.refuse["get apps one"] = errors.New("no answer") }, problem.RetryBackoff, []string{"get apps one"}, nil,
		},
		"the server does not say whether its fields match": {
			byField, func(c *cluster) {
				c.edit(locationOf(c.get("apps", "one")), func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "front"}) })
				for want, cache := range c.caches {
					if want.Resource.Resource == "apps" {
						gone := c.get("apps", "one").DeepCopy()
						gone.SetResourceVersion("100000")
						if err := cache.Delete(packed(c.t, gone)); err != nil {
							c.t.Fatal(err)
						}
					}
				}
				c.refuse["list apps one"] = errors.New("no answer")
			}, problem.RetryBackoff, []string{"get apps one", "list apps one"}, nil,
		},
		"a child cannot be deleted": {
			front, func(c *cluster) { c.refuse["delete configmaps a"] = denied }, problem.RetryBackoff, []string{"get apps one", "delete configmaps a"},
			[]string{`one Warning ChildRejected: cannot delete ConfigMap ns/a: denied by admission webhook "no.example.org"`},
		},
		"the TemplateController may be superseded": {
			front, func(c *cluster) { c.superseded() }, problem.RetrySoon, []string{"get apps one", "get templatecontrollers apps"}, nil,
		},
		"the watch of its children has failed": {
			front, func(c *cluster) {
				for want, cache := range c.caches {
					if want.Role == watch.Child {
						cache.Fail(errors.New("no answer"))
					}
				}
			}, problem.RetrySlow, nil, nil,
		},
		"a child that was made for an earlier parent, and outlives it, stays": {
			front, func(c *cluster) {
				c.edit(configMap("a"), func(o *unstructured.Unstructured) {
					o.SetOwnerReferences(nil)
					labels := o.GetLabels()
					labels[v1.LabelParentUID] = "earlier"
					o.SetLabels(labels)
					o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationParent, "one"))
					c.seal(o)
				})
			}, problem.RetryOnChange, []string{"get apps one"}, nil,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, row.watched)
			row.change(c)
			c.shared.absences.Left(queue.Key{Controller: "apps", Parent: configMapName("one")})
			result, requests := c.pass("apps", "one")
			wantRequests(t, why, requests, row.requests...)
			if result.Retry != row.retry {
				t.Errorf("retry %v, want %v", result.Retry, row.retry)
			}
			if diff := cmp.Diff(row.events, c.events); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
			if n := lengths(t, c.shared.absences, "since"); row.retry == problem.RetryOnChange && n > 0 {
				t.Errorf("%d parents count as absent", n)
			}
		})
	}
}

func TestNobodyIsAskedAboutATemplateControllerThatDeletesNothing(t *testing.T) {
	c := left(t, front)
	c.edit(configMap("a"), func(o *unstructured.Unstructured) { // of an earlier parent
		refs := o.GetOwnerReferences()
		refs[0].UID = "earlier"
		o.SetOwnerReferences(refs)
	})
	c.superseded()
	result, requests := c.pass("apps", "one")
	wantRequests(t, "an earlier parent's child is left to the garbage collector", requests, "get apps one")
	if result.After != queue.CollectorTime {
		t.Errorf("looks again after %v, want %v", result.After, queue.CollectorTime)
	}
}

func TestWhatIsCollectedWithoutAParent(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*cluster)
		want   []string
		retry  problem.Retry
	}{
		"a child": {func(*cluster) {}, []string{"get apps one", "delete configmaps a"}, problem.RetryOnChange},
		"one whose only owner does not control it is somebody else's": {func(c *cluster) {
			c.edit(configMap("a"), func(o *unstructured.Unstructured) {
				refs := o.GetOwnerReferences()
				refs[0].Controller = nil
				o.SetOwnerReferences(refs)
				o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationParent, "one"))
				c.seal(o)
			})
		}, []string{"get apps one"}, problem.RetryOnChange},
		"one that cannot be deleted": {func(c *cluster) {
			c.refuse["delete configmaps a"] = errors.New("no answer")
		}, []string{"get apps one", "delete configmaps a"}, problem.RetryBackoff},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, front)
			row.change(c)
			c.gone(locationOf(c.get("apps", "one")))
			c.pass("apps", "one")
			c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
			result, requests := c.pass("apps", "one")
			wantRequests(t, why, requests, row.want...)
			if n := lengths(t, c.shared.absences, "since"); result.Retry != row.retry || n > 0 != (row.retry == problem.RetryBackoff) {
				t.Errorf("retry %v, want %v; %d parents count as absent", result.Retry, row.retry, n)
			}
		})
	}
}

// A deletion with --cascade=orphan strips the owner references of the children, and the parent is gone, before the watch of the children
// shows that.
func TestChildrenStayThoughTheirWatchShowsOwnersThatAreGone(t *testing.T) {
	for why, row := range map[string]struct {
		failure error
		want    []string
	}{
		"the watch is behind":  {nil, []string{"get apps one", "delete configmaps a", "get configmaps a"}},
		"the watch has failed": {errors.New("no answer"), nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, front)
			for want, cache := range c.caches {
				if want.Role == watch.Child {
					c.silent[want] = true
					if row.failure != nil {
						cache.Fail(row.failure)
					}
				}
			}
			c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetOwnerReferences(nil) })
			c.gone(locationOf(c.get("apps", "one")))
			c.pass("apps", "one")
			c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
			_, requests := c.pass("apps", "one")
			wantRequests(t, why, requests, row.want...)
			clear(c.silent)
			for want, cache := range c.caches {
				if want.Role == watch.Child && row.failure != nil {
					resumed(t, cache)
				}
			}
			c.deliver()
			c.settle()
			c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
			c.settle()
			if c.get("configmaps", "a") == nil {
				t.Error("the child is deleted")
			}
		})
	}
}

// inLine has a parent stand in line, where others have left just before.
func inLine(p *queue.DeparturePacer, key queue.Key) {
	for _, other := range manyKeys(key.Controller, departureBurst+1) {
		p.Wait(other, 1)
	}
	p.Wait(key, 1)
}

func TestNothingIsRememberedOfAParentThatIsGone(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: red"))
	c.apply(app)
	c.settle()
	c.apply(painter("ys", "color: blue"))
	c.settle()
	running, key := *c.controllers.get("xs"), queue.Key{Controller: "xs", Parent: configMapName("one")}
	running.Parents = map[string]*watch.Cache{"": cacheOf(t)}
	c.controllers.tracked["xs"].current = &running
	c.controllers.events.Fresh(key, "bad")
	c.controllers.events.Faults(key, "x", []string{"bad"})
	c.shared.breaker.Wrote(key, queue.Generations{}, queue.Written{Children: true})
	c.shared.absences.Left(key)
	inLine(c.shared.pacer, key)
	take(c.parentsDue)
	if result := c.reconciler.Reconcile(t.Context(), key); result != (reconcile.Result{Outcome: record.Succeeded}) {
		t.Errorf("result %+v", result)
	}
	last := lengths(t, c.controllers.events, "last") > 0
	faults := lengths(t, c.controllers.events, "faults") > 0
	absent := lengths(t, c.shared.absences, "since") > 0
	if last || faults || absent || c.shared.breaker.Knows(key) || lengths(t, c.shared.pacer, "lines.xs.places") > 0 {
		t.Error("something is remembered")
	}
	if diff := cmp.Diff([]string{"ys/one"}, take(c.parentsDue)); diff != "" {
		t.Errorf("who is told that the status may be free (-want +got):\n%s", diff)
	}
}

func TestKeysOfAKindThatWasGone(t *testing.T) {
	for why, row := range map[string]struct {
		c         running.Controller
		namespace string
		want      bool
	}{
		"a key from then":                        {namespaced(), "", true},
		"a key of now":                           {namespaced(), "ns", false},
		"the kind has no namespaces in any case": {running.Controller{}, "", false},
	} {
		if got := row.c.OutdatedKey(queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: row.namespace, Name: "one"}}); got != row.want {
			t.Errorf("%s: %v, want %v", why, got, row.want)
		}
	}
}

func namespaced() (c running.Controller) {
	c.Kind.Namespaced = true
	return c
}

func TestWhichChildrenAParentLeavesBehind(t *testing.T) {
	owned := func(*unstructured.Unstructured) {}
	orphan := func(o *unstructured.Unstructured) {
		o.SetOwnerReferences(nil)
		o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationParent, "one"))
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
		"one that is being deleted": {front, ending, 0},
		"one that outlives it, where all are parents": {"kind: App}", orphan, 0},
		"one that outlives it, where it may be there": {front, orphan, 1},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, row.watched)
			c.edit(configMap("a"), row.child)
			running := *c.controllers.get("apps")
			if got := running.LeftBehind(queue.Key{Controller: "apps", Parent: configMapName("one")}); len(got) != row.want {
				t.Errorf("%d are left behind, want %d", len(got), row.want)
			}
		})
	}
}

func TestStraysOfAnEarlierParent(t *testing.T) {
	for why, row := range map[string]struct {
		change func(*cluster)
		want   []string // after a minute
		after  bool     // whether to look again
	}{
		"they go":                    {func(*cluster) {}, []string{"get apps one", "delete configmaps b"}, false},
		"the parent is gone, too":    {func(c *cluster) { c.Remove(locationOf(c.get("apps", "one"))) }, []string{"get apps one"}, true},
		"the server does not answer": {func(c *cluster) { c.refuse["get apps one"] = errors.New("no answer") }, []string{"get apps one"}, true},
		"one that is being deleted needs no help": {func(c *cluster) {
			c.edit(configMap("b"), func(o *unstructured.Unstructured) {
				now := metav1.Now()
				o.SetDeletionTimestamp(&now)
				o.SetFinalizers([]string{"example.org/slow"})
			})
		}, nil, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(apps)
			c.apply(with(t, app, "[a, b]", "[a]"))
			c.settle()
			stray := c.get("configmaps", "a").DeepCopy()
			stray.SetName("b")
			stray.SetUID("stray")
			refs := stray.GetOwnerReferences()
			refs[0].UID = "earlier"
			stray.SetOwnerReferences(refs)
			labels := stray.GetLabels()
			labels[v1.LabelParentUID] = "earlier"
			stray.SetLabels(labels)
			c.seal(stray)
			c.Store(configMap("b"), stray)
			c.deliver()
			c.run()
			row.change(c)
			c.pass("apps", "one")
			c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
			result, requests := c.pass("apps", "one")
			requests = slices.DeleteFunc(requests, func(r string) bool { return strings.HasPrefix(r, "status") })
			wantRequests(t, why, requests, row.want...)
			if result.After == queue.CollectorTime != row.after {
				t.Errorf("looks again after %v", result.After)
			}
			if n := lengths(t, c.shared.absences, "since"); !row.after && n > 0 {
				t.Errorf("%d parents count as absent", n)
			}
		})
	}
}

func TestParentThatIsBackStandsInNoLine(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.settle()
	key := queue.Key{Controller: "apps", Parent: configMapName("one")}
	c.shared.absences.Left(key)
	inLine(c.shared.pacer, key)
	if n := lengths(t, c.shared.pacer, "lines.apps.places"); n != 1 {
		t.Fatalf("%d stand in line, want 1", n)
	}
	c.pass("apps", "one")
	if n := lengths(t, c.shared.absences, "since") + lengths(t, c.shared.pacer, "lines.apps.places"); n > 0 {
		t.Errorf("%d things are remembered of its absence", n)
	}
}
