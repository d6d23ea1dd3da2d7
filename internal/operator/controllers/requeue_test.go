package controllers

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestFailedSyncIsRetried(t *testing.T) {
	for why, err := range map[string]error{"it went well": nil, "a watch is behind": store.ErrBehind, "it failed": errors.New("no answer")} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.controllers.again(t.Context(), "apps", err)
			at, ok := c.ControllerQueue.Due("apps")
			if wait := at.Sub(c.Clock.Now()); ok != (err != nil) || ok && wait != queue.FirstRetry {
				t.Errorf("tried again: %v, after %v; want %v", ok, wait, queue.FirstRetry)
			}
			c.controllers.again(t.Context(), "apps", nil)
			if n := c.ControllerQueue.NumRequeues("apps"); n != 0 {
				t.Errorf("%d failures count after it went well", n)
			}
		})
	}
}

func TestForbiddenListIsRetried(t *testing.T) {
	for why, forbidden := range map[string]bool{"it may": false, "it may not": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.Run()
			var parents watch.Want
			for _, want := range c.Owned["apps"] {
				if want.Role == watch.Parent {
					parents = want
				}
			}
			if forbidden {
				c.Caches[parents] = reconciletest.FailedCache(t, parents, denial("", "list", "apps", "at the cluster scope"))
				c.Silent[parents] = true
			}
			c.controllers.queue.Add("apps")
			c.Run()
			want := recountTime
			if forbidden {
				want = permissions.CacheTTL
			}
			if wait := c.ControllerQueue.Wait("apps"); wait != want {
				t.Errorf("looked at again after %v, want %v", wait, want)
			}
		})
	}
}

func TestForeignFinalizersAreIgnored(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "name: apps", "name: apps, finalizers: [example.org/x]"))
	c.Run()
	c.startDeletion()
	wantRequests(t, "a deletion that waits for somebody else", c.Run())
}

func TestMissingNamespaceIsNotSelected(t *testing.T) {
	selector, err := labels.Parse("a=b")
	if err != nil {
		t.Fatal(err)
	}
	namespaces, err := watch.NewCache(watch.Want{Role: watch.Namespace}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	c := &controller.Controller{Definition: controller.Definition{NamespaceSelector: selector}, Caches: controller.Caches{Namespaces: namespaces}}
	for _, there := range []bool{false, true} {
		if there {
			namespace := packed(t, parse(t, "{apiVersion: v1, kind: Namespace, metadata: {name: ns, resourceVersion: \"1\", labels: {a: b}}}"))
			if err := namespaces.Replace([]any{namespace}, "1"); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.InNamespace("ns"); got != there {
			t.Errorf("the namespace is there: %v, selected: %v", there, got)
		}
	}
}

func TestHandoverWaitsForDefaultClass(t *testing.T) {
	c := newCluster(t)
	c.controllers.class = "b"
	served := ""
	tc := &v1.TemplateController{Status: v1.TemplateControllerStatus{ClassName: &served}}
	if wait := c.controllers.handover(tc, &tracked{}); wait != handoverTime {
		t.Errorf("wait %v, want %v", wait, handoverTime)
	}
}

func TestIsLeavingNamespace(t *testing.T) {
	some := &controller.Controller{Definition: controller.Definition{Spec: &v1.TemplateControllerSpec{ServiceAccountRef: &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}, Watch: v1.Watch{Namespaces: []string{"team"}}}}}
	for namespace, want := range map[string]bool{"team": false, "other": true, "": false} {
		if got := some.IsLeaving(namespace); got != want {
			t.Errorf("namespace %q: leaving is %v, want %v", namespace, got, want)
		}
	}
	account := some.Spec.ServiceAccountRef
	for why, spec := range map[string]*v1.TemplateControllerSpec{
		"no account":                   {},
		"no account, but namespaces":   {Watch: some.Spec.Watch},
		"an account":                   {ServiceAccountRef: account},
		"an account and an empty list": {ServiceAccountRef: account, Watch: v1.Watch{Namespaces: []string{}}},
	} {
		t.Run(why, func(t *testing.T) {
			if all := (&controller.Controller{Definition: controller.Definition{Spec: spec}}); all.IsLeaving("other") {
				t.Error("a controller that reads in all namespaces leaves one")
			}
		})
	}
}

func TestParentsSyncedWaitsForNamespaces(t *testing.T) {
	namespaces, err := watch.NewCache(watch.Want{Role: watch.Namespace}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	c := &controller.Controller{Caches: controller.Caches{Namespaces: namespaces}}
	if c.ParentsSynced("ns") {
		t.Error("parents count as known while the namespaces are not")
	}
	if err := namespaces.Replace(nil, "1"); err != nil {
		t.Fatal(err)
	}
	if !c.ParentsSynced("ns") {
		t.Error("parents of a namespace that is not watched are none")
	}
}
