package controllers

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

func TestChildrenAreKeptWhenDiscoveryFailsAfterKindNotFound(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	parent := c.KubectlApply(app)
	c.Run()
	c.Deliver()
	for _, err := range []error{&kind.NotFoundError{GVK: parent.GroupVersionKind()}, errors.New("no answer")} {
		c.Refuse["kind App"] = err
		c.controllers.queue.Add("apps")
		c.Run()
		c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime - 1))
	}
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	c.controllers.enqueueAll(c.controllers.get("apps"))
	wantRequests(t, "there may be parents", c.Run())
}

// asked is a resolver that records the kinds it is asked for.
type asked struct {
	*cluster
	kinds []string
}

func (a *asked) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	a.kinds = append(a.kinds, gvk.Kind+" "+gvk.Version)
	return a.cluster.Resolve(gvk)
}

func TestChildWatchScopeAndDiscovery(t *testing.T) {
	kind := func(group, name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
	}
	some := map[string]bool{"ns": true, "other": true}
	for why, row := range map[string]struct {
		gvk        schema.GroupVersionKind
		in         map[string]bool
		namespaces []string
		asked      []string
	}{
		"in all namespaces": {kind("", "ConfigMap"), nil, []string{""}, []string{"ConfigMap v1"}},
		"in some":           {kind("", "ConfigMap"), some, []string{"ns", "other"}, []string{"ConfigMap v1"}},
		"a cluster-scoped kind is in no namespace":      {kind("example.org", "Cluster"), some, []string{""}, []string{"Cluster v1"}},
		"a kind that is nowhere is asked for just once": {kind("example.org", "Nowhere"), some, nil, []string{"Nowhere v1"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			kinds := &asked{cluster: c}
			got := (&controller.Wants{}).ChildrenOf(kinds, row.gvk, false, row.in)
			if diff := cmp.Diff(row.namespaces, slices.Sorted(maps.Keys(got.Wants))); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
			for ns, want := range got.Wants {
				if want.Namespace != ns {
					t.Errorf("namespace %q is read as %q", ns, want.Namespace)
				}
			}
			if diff := cmp.Diff(row.asked, kinds.kinds); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStateChangesWithSchemaAndAvailability(t *testing.T) {
	states := map[string]*controller.State{}
	for what, s := range map[string]controller.Source{
		"as it was":      {Kind: kind.Kind{Revision: "1"}},
		"another schema": {Kind: kind.Kind{Revision: "2"}},
		"it is away":     {Kind: kind.Kind{Revision: "1"}, Err: errors.New("away")},
	} {
		c := &controller.Controller{Definition: controller.Definition{Spec: &v1.TemplateControllerSpec{}}, Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{{Kind: "A"}: s}}, Factory: &child.Factory{Ownership: &child.Ownership{Seals: &seal.Ring{}}}}
		now := c.State(false)
		for other, state := range states {
			if now.Equal(state) {
				t.Errorf("%q has the state of %q", what, other)
			}
		}
		if again := c.State(false); !again.Equal(now) {
			t.Errorf("%q: a second look finds another state", what)
		}
		states[what] = now
	}
}
