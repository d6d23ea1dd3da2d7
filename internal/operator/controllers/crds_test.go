package controllers

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestUnservedVersionKeepsChildren(t *testing.T) {
	for why, err := range map[string]*kind.NotFoundError{
		"its own server is away":           {APIServiceUnavailable: true},
		"another version is served":        {Served: "v2"},
		"the definition serves no version": {Definition: "apps.example.org"},
		"the definition is being deleted":  {Definition: "apps.example.org", CRDTerminating: true},
	} {
		t.Run(why, func(t *testing.T) {
			err.GVK = schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Refuse["kind App"] = err
			c.controllers.queue.Add("apps")
			wantRequests(t, "the version is gone", c.Run())
			advice := ": serve that version in the CustomResourceDefinition, or correct spec.watch; until then, children are left unchanged"
			if err.CRDTerminating {
				advice = "; to continue, create it again, or correct spec.watch; until then, children are left unchanged"
			}
			if err.APIServiceUnavailable {
				advice = "; until it is served again, children are left unchanged"
			}
			want := "False KindNotFound: " + err.Error() + advice
			if got := c.Condition("templatecontrollers", "apps", "Watching"); got != want {
				t.Errorf("condition %q, want %q", got, want)
			}
			c.Clock.SetTime(c.Clock.Now().Add(2 * queue.CollectorTime))
			c.controllers.enqueueAll(c.controllers.get("apps"))
			wantRequests(t, "after two minutes", c.Run())
			delete(c.Refuse, "kind App")
			c.controllers.queue.Add("apps")
			c.Run()
			c.KubectlApply(newApp(withChildren("a")))
			wantRequests(t, "when it is back", c.Run(), "delete configmaps b", "status apps one")
		})
	}
}

func TestFailedDiscoveryIsRetried(t *testing.T) {
	c := newCluster(t)
	c.Refuse["kind App"] = errors.New("no answer")
	c.KubectlApply(apps)
	c.KubectlApply(app)
	wantRequests(t, "no answer", c.Run())
	want := "False ListFailed: API discovery failed: the API server did not respond"
	if got := c.Condition("templatecontrollers", "apps", "Watching"); got != want {
		t.Errorf("condition %q, want %q", got, want)
	}
	if at, due := c.ControllerQueue.Due("apps"); !due || at.Sub(c.Clock.Now()) > 2*controller.UnansweredRetry {
		t.Errorf("the TemplateController is looked at again: %v, at %v", due, at)
	}
	a := assembly{Wants: controller.Wants{KindErr: errors.New("no answer")}}
	if got := a.Recheck(); got < controller.UnansweredRetry || got > 2*controller.UnansweredRetry {
		t.Errorf("asks again after %v, want about %v", got, controller.UnansweredRetry)
	}
	for why, err := range map[string]*kind.NotFoundError{"missing": {}, "served in another version": {Served: "v2"}, "away": {APIServiceUnavailable: true}} {
		t.Run(why, func(t *testing.T) {
			a.KindErr = err
			if got := a.Recheck(); got < problem.SlowRetry || got > 2*problem.SlowRetry {
				t.Errorf("a kind that is %s is asked for again after %v, want about %v", why, got, problem.SlowRetry)
			}
		})
	}
	a.KindErr = &kind.NotFoundError{Served: "v2", Definition: "x"}
	if got := a.Recheck(); got != 0 {
		t.Errorf("a kind that a definition tells of is asked for again after %v, want never", got)
	}
}

func TestUnreadableChildKindBlocksPruning(t *testing.T) {
	for why, row := range map[string]struct {
		err      error
		watching string
	}{
		"no answer": {errors.New("no answer"), "False ListFailed: cannot list children of kind ConfigMap: API discovery failed: the API server did not respond; children are kept until this is resolved"},
		"no version is served": {
			&kind.NotFoundError{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Definition: "x"},
			"False KindNotFound: cannot list children: the cluster does not serve kind ConfigMap in v1: CustomResourceDefinition x exists, but does not serve it (kubectl describe crd x); children are kept until this is resolved",
		},
		"its own server is away": {
			&kind.NotFoundError{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, APIServiceUnavailable: true},
			"False KindNotFound: cannot list children: the cluster does not serve kind ConfigMap in v1 at the moment: check its APIService (kubectl get apiservices); children are kept until this is resolved",
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
			c.KubectlApply(app)
			c.Run()
			c.Refuse["kind ConfigMap"] = row.err
			c.controllers.queue.Add("apps")
			c.Run()
			if got := c.Condition("templatecontrollers", "apps", "Watching"); got != row.watching {
				t.Errorf("condition %q, want %q", got, row.watching)
			}
			if complete := c.controllers.get("apps").CompleteEverywhere(); complete {
				t.Error("children that cannot be read count as none: they would be left behind")
			}
		})
	}
}

func TestChildrenAreWatchedInServedVersion(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Statusless"}
	got := (&controller.Wants{}).ChildrenOf(versioned{served: "v2"}, gvk, false, nil)
	if got.Wants[""].Resource.Version != "v2" || got.Err != nil {
		t.Errorf("children are read as %+v, want version v2", got)
	}
}

// upgraded is a Resolver that learns about a control plane upgrade once its cache is invalidated.
type upgraded struct {
	*cluster
	served string // version of ConfigMaps
	known  bool
}

func (u *upgraded) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	if u.known && gvk.Kind == "ConfigMap" && gvk.Version != u.served {
		return kind.Kind{}, &kind.NotFoundError{GVK: gvk, Served: u.served}
	}
	return u.cluster.Resolve(gvk)
}

func (u *upgraded) Doubt(schema.GroupVersionResource) bool {
	first := !u.known
	u.known = true
	return first
}

func TestNotFoundWatchRefreshesDiscovery(t *testing.T) {
	c := newCluster(t)
	kinds := &upgraded{cluster: c, served: "v2"}
	c.controllers.kinds = kinds
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	maps := configMap("").Resource
	c.Caches[watch.Want{Resource: maps, Labels: v1.LabelController, Role: watch.Child}].FailWatch(apierrors.NewNotFound(maps.GroupResource(), ""))
	c.Run()
	source := c.controllers.get("apps").Sources[schema.GroupKind{Kind: "ConfigMap"}]
	if !kinds.known || source.Kind.Resource.Version != "v2" {
		t.Errorf("discovery was asked anew: %v, and children are read in version %s; want v2", kinds.known, source.Kind.Resource.Version)
	}
}

// versioned serves all kinds in a single version.
type versioned struct{ served string }

func (v versioned) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	if gvk.Version != v.served {
		return kind.Kind{}, &kind.NotFoundError{GVK: gvk, Served: v.served}
	}
	return kind.Kind{Kind: gvk.Kind, Resource: schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: "x"}}, nil
}

func TestSchemaChangeReconcilesAllParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	before := c.controllers.tracked["apps"].state
	gk := schema.GroupKind{Group: "example.org", Kind: "App"}
	saved := reconciletest.Kinds[gk]
	t.Cleanup(func() { reconciletest.Kinds[gk] = saved })
	changed := saved
	changed.Revision = "u/2"
	reconciletest.Kinds[gk] = changed
	key := keyOf("apps", "one")
	key.Parent.Namespace = "ns"
	c.ParentQueue.AddRateLimited(key)
	c.controllers.queue.Add("apps")
	c.Run()
	if c.controllers.tracked["apps"].state.Equal(before) {
		t.Error("a change of the definition goes unnoticed")
	}
	if n := c.ParentQueue.NumRequeues(key); n != 0 {
		t.Errorf("%d failures still count, which another schema may have ended", n)
	}
}

func TestRenamedCRDEnqueuesTemplateController(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.Run()
	named := func(kind string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: apps.example.org}\nspec: {group: example.org, names: {kind: " + kind + "}}\n"
	}
	old, next := packed(t, parse(t, named("App"))), packed(t, parse(t, named("Other")))
	c.controllers.Changed(watch.Want{Role: watch.Definition}, watch.Event{Old: old, New: next})
	if c.controllers.queue.Len() != 1 {
		t.Error("a TemplateController is not told that its kind has another name now")
	}
}

func TestPanicFailsOnlyOneSync(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.controllers.kinds = nil
	if err := c.controllers.guarded(t.Context(), "apps"); !errors.Is(err, reconcile.ErrPanic) {
		t.Errorf("err = %v, want errPanic", err)
	}
	c.controllers.kinds = c
	if err := c.controllers.guarded(t.Context(), "apps"); err != nil {
		t.Errorf("after the panic: err = %v, want none: a lock may be held", err)
	}
}

func TestDeletedTemplateControllerLeavesNoState(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	c := newCluster(t)
	for i := range 20 {
		name := fmt.Sprint("apps-", i)
		c.KubectlApply(with(t, apps, "name: apps", "name: "+name, "name: {{ . }}", "name: {{ . }}-"+name))
		c.KubectlApply(app)
		c.Run()
		c.RemoveNow(request.Location{Resource: v1.Resource, Name: name})
		c.Run()
		c.RemoveNow(configMap("a-" + name))
		c.RemoveNow(configMap("b-" + name))
	}
	for what, n := range map[string]int{
		"controllers": len(c.controllers.tracked), "breaker": lengths(t, c.shared.Breaker, "spent"), "announced": lengths(t, c.controllers.events, "last"), "faults": lengths(t, c.controllers.events, "faults"),
		"absent": lengths(t, c.shared.Absences, "since"), "orphaning": lengths(t, c.shared.Orphaning, "parents"), "paces": lengths(t, c.shared.Pacer, "lines"), "failures": lengths(t, c.shared.failures, "failures", "failing"), "backlog": lengths(t, c.controllers.backlog, "waiting", "out", "outOf"),
		"tenants": lengths(t, c.controllers.tenants, "of"), "turns": lengths(t, c.shared.turns, "lanes", "shares", "reconciliations"),
	} {
		if n > 0 {
			t.Errorf("%s: %d entries are left of 20 TemplateControllers", what, n)
		}
	}
	for owner, wants := range c.Owned {
		if owner != "" && len(wants) > 0 {
			t.Errorf("%s still wants %v", owner, wants)
		}
	}
	c.ParentQueue.ShutDown()
	c.controllers.queue.ShutDown()
}
