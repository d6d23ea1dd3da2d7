package controllers

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// cacheOf returns a cache of children with these objects.
func cacheOf(t *testing.T, manifests ...string) *watch.Cache {
	t.Helper()
	cache, err := watch.NewCache(watch.Want{Labels: v1.LabelController, Role: watch.Child}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	var all []any
	for _, manifest := range manifests {
		all = append(all, packed(t, parse(t, manifest)))
	}
	if err := cache.Replace(all, "1"); err != nil {
		t.Fatal(err)
	}
	return cache
}

func TestPossibleChildNamespaces(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {resourceVersion: \"1\", labels: {templater.dev/controller: apps}, name: a"
	now := &controller.Controller{Definition: controller.Definition{Name: "apps"}, Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{
		{Kind: "ConfigMap"}: {Caches: map[string]*watch.Cache{"": cacheOf(t, head+", namespace: old}")}},
		{Kind: "Cluster"}:   {Caches: map[string]*watch.Cache{"": cacheOf(t, head+"}")}},
	}}}
	for why, row := range map[string]struct {
		before  map[string]bool
		running *controller.Controller
		scope   []string
		want    map[string]bool
	}{
		"in all":                             {nil, now, nil, nil},
		"in all, instead of some":            {map[string]bool{"a": true}, now, nil, nil},
		"in some, and nothing is known":      {nil, nil, []string{"a", "b"}, map[string]bool{"a": true, "b": true}},
		"in some instead of all":             {nil, now, []string{"a"}, map[string]bool{"a": true, "old": true}},
		"in others":                          {map[string]bool{"a": true}, nil, []string{"b"}, map[string]bool{"a": true, "b": true}},
		"in others; one was given up before": {map[string]bool{"a": true}, now, []string{"b"}, map[string]bool{"a": true, "b": true}},
	} {
		t.Run(why, func(t *testing.T) {
			e := newTracked("u")
			e.namespaces, e.current = row.before, row.running
			e.widenScope(row.scope)
			if diff := cmp.Diff(row.want, e.namespaces); diff != "" {
				t.Errorf("%s (-want +got):\n%s", why, diff)
			}
		})
	}
}

// TestClusterWideChildWatchEnds: spec.watch.namespaces now limits the namespaces of children.
func TestClusterWideChildWatchEnds(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {resourceVersion: \"1\", labels: {templater.dev/controller: apps, templater.dev/parent-uid: u}, namespace: far, name: a, annotations: {templater.dev/parent: ns/one}}"
	made := parse(t, manifest)
	reconciletest.Seal(t, reconciletest.KeysOf(t, "1"), made, "App")
	written, err := made.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := watch.Want{Resource: configMap("").Resource, Labels: v1.LabelController, Role: watch.Child, As: robot}
	unread, err := watch.NewCache(want, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	configMaps, roles := reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}], reconciletest.Kinds[schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}]
	for why, row := range map[string]struct {
		kind   kind.Kind
		cache  *watch.Cache
		narrow bool
	}{
		"there is none":                     {configMaps, cacheOf(t), true},
		"one is in another namespace":       {configMaps, cacheOf(t, string(written)), false},
		"what is there is nobody's":         {configMaps, cacheOf(t, manifest), true},
		"the caches are syncing":            {configMaps, unread, false},
		"a watch has failed":                {configMaps, reconciletest.FailedCache(t, want, errors.New("no answer")), false},
		"they may not be read any more":     {configMaps, reconciletest.FailedCache(t, want, denial(robot, "list", "configmaps", "at the cluster scope")), true},
		"the kind has no namespaces at all": {roles, unread, true},
	} {
		t.Run(why, func(t *testing.T) {
			e := newTracked("u")
			e.current = &controller.Controller{Definition: controller.Definition{Name: "apps"}, Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{{Kind: "ConfigMap"}: {Kind: row.kind, Caches: map[string]*watch.Cache{"": row.cache}}}}, Factory: &child.Factory{Ownership: &child.Ownership{Controller: "apps", Parents: schema.GroupKind{Group: "example.org", Kind: "App"}, Seals: reconciletest.Ring(t)}}}
			e.widenScope([]string{"ns"})
			if got := e.namespaces != nil; got != row.narrow {
				t.Errorf("children are read in %v", e.namespaces)
			}
		})
	}
}

func TestDeselectedNamespaceWatchEnds(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {resourceVersion: \"1\", labels: {templater.dev/controller: apps, templater.dev/parent-uid: u}, namespace: old, name: "
	made := parse(t, manifest+"a"+", ownerReferences: [{apiVersion: example.org/v1, kind: App, name: one, uid: u, controller: true}]}")
	reconciletest.Seal(t, reconciletest.KeysOf(t, "1"), made, "App")
	written, err := made.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	configMaps := reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}]
	unread, err := watch.NewCache(watch.Want{Labels: v1.LabelController, Role: watch.Child}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for why, row := range map[string]struct {
		source controller.Source
		stays  bool
	}{
		"nothing was ever read there":             {controller.Source{}, false},
		"nothing is there":                        {controller.Source{Caches: map[string]*watch.Cache{"old": cacheOf(t)}}, false},
		"a child is there":                        {controller.Source{Kind: configMaps, Caches: map[string]*watch.Cache{"old": cacheOf(t, string(written))}}, true},
		"what is there is nobody's":               {controller.Source{Kind: configMaps, Caches: map[string]*watch.Cache{"old": cacheOf(t, manifest+"a}")}}, false},
		"it is not known yet what is there":       {controller.Source{Caches: map[string]*watch.Cache{"old": unread}}, true},
		"it is not known where children are read": {controller.Source{Err: errors.New("no answer")}, true},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			before := map[string]bool{"ns": true, "old": true}
			e := newTracked("u")
			e.namespaces = before
			next := &controller.Controller{
				Definition: controller.Definition{
					Name: "apps", GVK: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}, Spec: &v1.TemplateControllerSpec{ServiceAccountRef: &v1.ServiceAccountRef{Namespace: "team", Name: "robot"}, Watch: v1.Watch{Namespaces: []string{"ns"}}},
				},
				Caches:  controller.Caches{Sources: map[schema.GroupKind]controller.Source{{Kind: "ConfigMap"}: row.source}},
				Factory: &child.Factory{Ownership: &child.Ownership{Controller: "apps", Parents: schema.GroupKind{Group: "example.org", Kind: "App"}, Seals: reconciletest.Ring(t)}},
			}
			c.controllers.retreat(t.Context(), e, next)
			if e.namespaces["old"] != row.stays || !e.namespaces["ns"] || len(before) != 2 {
				t.Errorf("%v are read, and %v in the set that was in use; stays is to be %v", e.namespaces, before, row.stays)
			}
			due, later := c.ControllerQueue.Due("apps")
			if at := c.controllers.queue.Len(); at != 1 == !row.stays || later != row.stays || later && due.Sub(c.Clock.Now()) != permissions.CacheTTL {
				t.Errorf("looked at again at once: %d, later: %v", at, later)
			}
		})
	}
}

func TestChildWatchMatching(t *testing.T) {
	resource := configMap("").Resource
	c := &controller.Controller{Access: controller.Access{As: robot}, Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{{Kind: "ConfigMap"}: {
		Kind: reconciletest.Kinds[schema.GroupKind{Kind: "ConfigMap"}], Caches: map[string]*watch.Cache{"ns": cacheOf(t)},
	}}}}
	for why, row := range map[string]struct {
		want  watch.Want
		reads bool
	}{
		"its own":             {watch.Want{Resource: resource, As: robot, Namespace: "ns"}, true},
		"another namespace's": {watch.Want{Resource: resource, As: robot, Namespace: "other"}, false},
		"another user's":      {watch.Want{Resource: resource, Namespace: "ns"}, false},
		"another resource's":  {watch.Want{Resource: controller.Namespaces, As: robot, Namespace: "ns"}, false},
	} {
		if _, got := c.ReadBy(row.want); got != row.reads {
			t.Errorf("%s: %v, want %v", why, got, row.reads)
		}
	}
}
