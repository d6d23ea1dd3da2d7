package controllers

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// left returns a cluster with a parent that has stopped matching, and was not reconciled since.
func left(t *testing.T, watched string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.StopMatching(watched)
	return c
}

// superseded makes the operator a new leader, while the API server has a newer TemplateController.
func (c *cluster) superseded() {
	c.controllers.led.Store(true)
	c.controllers.tracked["apps"].confirmed = false
	newer := c.Objects[appsController].DeepCopy()
	newer.SetGeneration(newer.GetGeneration() + 1)
	c.Store(appsController, newer)
}

func TestParentStopsMatching(t *testing.T) {
	denied := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	const byField = "kind: App, labelSelector: {matchLabels: {tier: front}}, fieldSelector: metadata.name=one}"
	for why, row := range map[string]struct {
		watched  string
		change   func(*cluster)
		retry    problem.Retry
		requests []string
		events   []string
	}{
		"its children go": {
			reconciletest.WatchFront, func(*cluster) {}, problem.RetryOnChange, []string{"get apps one", "delete configmaps a"},
			[]string{"one Normal NoLongerMatches: TemplateController apps no longer selects this object: its children were deleted"},
		},
		"the server does not answer": {
			reconciletest.WatchFront, func(c *cluster) { c.Refuse["get apps one"] = errors.New("no answer") }, problem.RetryBackoff, []string{"get apps one"}, nil,
		},
		"the server does not say whether its fields match": {
			byField, func(c *cluster) {
				c.KubectlEdit(locationOf(c.Find("apps", "one")), func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "front"}) })
				for want, cache := range c.Caches {
					if want.Resource.Resource == "apps" {
						gone := c.Find("apps", "one").DeepCopy()
						gone.SetResourceVersion("100000")
						if err := cache.Delete(packed(c.T, gone)); err != nil {
							c.T.Fatal(err)
						}
					}
				}
				c.Refuse["list apps one"] = errors.New("no answer")
			}, problem.RetryBackoff, []string{"get apps one", "list apps one"}, nil,
		},
		"a child cannot be deleted": {
			reconciletest.WatchFront, func(c *cluster) { c.Refuse["delete configmaps a"] = denied }, problem.RetryBackoff, []string{"get apps one", "delete configmaps a"},
			[]string{`one Warning ChildRejected: cannot delete ConfigMap ns/a: denied by admission webhook "no.example.org"`},
		},
		"the TemplateController may be superseded": {
			reconciletest.WatchFront, func(c *cluster) { c.superseded() }, problem.RetrySoon, []string{"get apps one", "get templatecontrollers apps"}, nil,
		},
		"the watch of its children has failed": {
			reconciletest.WatchFront, func(c *cluster) {
				for want, cache := range c.Caches {
					if want.Role == watch.Child {
						cache.Fail(errors.New("no answer"))
					}
				}
			}, problem.RetrySlow, nil, nil,
		},
		"a child that was made for an earlier parent, and outlives it, stays": {
			reconciletest.WatchFront, func(c *cluster) {
				c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) {
					o.SetOwnerReferences(nil)
					labels := o.GetLabels()
					labels[v1.LabelParentUID] = "earlier"
					o.SetLabels(labels)
					o.SetAnnotations(reconciletest.Plus(o.GetAnnotations(), v1.AnnotationParent, "one"))
					c.Seal(o)
				})
			}, problem.RetryOnChange, []string{"get apps one"}, nil,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := left(t, row.watched)
			row.change(c)
			c.shared.Absences.Left(queue.Key{Controller: "apps", Parent: configMapName("one")})
			result, requests := c.Reconcile("apps", "one")
			wantRequests(t, why, requests, row.requests...)
			if result.Retry != row.retry {
				t.Errorf("retry %v, want %v", result.Retry, row.retry)
			}
			if diff := cmp.Diff(row.events, c.Events); diff != "" {
				t.Errorf("Events (-want +got):\n%s", diff)
			}
			if n := lengths(t, c.shared.Absences, "since"); row.retry == problem.RetryOnChange && n > 0 {
				t.Errorf("%d parents count as absent", n)
			}
		})
	}
}

func TestReleaseWithoutDeletionsReadsNoTemplateController(t *testing.T) {
	c := left(t, reconciletest.WatchFront)
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { // of an earlier parent
		refs := o.GetOwnerReferences()
		refs[0].UID = "earlier"
		o.SetOwnerReferences(refs)
	})
	c.superseded()
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "an earlier parent's child is left to the garbage collector", requests, "get apps one")
	if result.After != queue.CollectorTime {
		t.Errorf("looks again after %v, want %v", result.After, queue.CollectorTime)
	}
}

func TestMissingParentLeavesNoState(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: red"))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(statusOnly("ys", "color: blue"))
	c.Settle()
	running, key := *c.controllers.get("xs"), queue.Key{Controller: "xs", Parent: configMapName("one")}
	running.Parents = map[string]*watch.Cache{"": cacheOf(t)}
	c.controllers.tracked["xs"].current = &running
	c.controllers.events.Fresh(key, "bad")
	c.controllers.events.Faults(key, "x", []string{"bad"})
	c.shared.Breaker.Wrote(key, queue.Generations{}, queue.Written{Children: true})
	c.shared.Absences.Left(key)
	reconciletest.InLine(c.shared.Pacer, key)
	reconciletest.Take(c.ParentQueue)
	if result := c.Reconciler.Reconcile(t.Context(), key); result != (reconcile.Result{Outcome: record.Succeeded}) {
		t.Errorf("result %+v", result)
	}
	last := lengths(t, c.controllers.events, "last") > 0
	faults := lengths(t, c.controllers.events, "faults") > 0
	absent := lengths(t, c.shared.Absences, "since") > 0
	if last || faults || absent || c.shared.Breaker.Knows(key) || lengths(t, c.shared.Pacer, "lines.xs.places") > 0 {
		t.Error("something is remembered")
	}
	if diff := cmp.Diff([]string{"ys/one"}, reconciletest.Take(c.ParentQueue)); diff != "" {
		t.Errorf("who is told that the status may be free (-want +got):\n%s", diff)
	}
}
