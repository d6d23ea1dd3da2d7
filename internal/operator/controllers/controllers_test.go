package controllers

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

func TestCountIgnoresUnknownTemplateController(t *testing.T) {
	c := newCluster(t)
	c.controllers.Count(queue.Key{Controller: "nobody", Parent: configMapName("one")}, status.ParentSummary{})
	if n := c.controllers.queue.Len() + c.ControllerQueue.Delayed(); n > 0 {
		t.Errorf("%d TemplateControllers are looked at", n)
	}
}

func TestChangedCountEnqueuesTemplateController(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Settle()
	one := queue.Key{Controller: "apps", Parent: configMapName("one")}
	for _, step := range []struct {
		why     string
		now     status.ParentSummary
		changed bool
	}{{"as before", c.controllers.tracked["apps"].counts.ByParent[one.Parent], false}, {"it has failed", status.ParentSummary{Failed: true}, true}} {
		c.ControllerQueue.Drop()
		c.controllers.Count(one, step.now)
		if _, due := c.ControllerQueue.Due("apps"); due != step.changed {
			t.Errorf("%s: it is looked at: %v, want %v", step.why, due, step.changed)
		}
	}
}

func TestNextReportsDequeueBeforeSync(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	taken := 0
	c.controllers.next(t.Context(), t.Context(), func() {
		if taken++; c.controllers.tracked["apps"] != nil {
			t.Error("it is told too late for others to begin meanwhile")
		}
	})
	if taken != 1 {
		t.Errorf("told %d times, want once", taken)
	}
}

func TestAddKindsRecordsVersionOnce(t *testing.T) {
	c, e := newCluster(t), newTracked("u")
	c.controllers.tracked["apps"] = e
	gk := schema.GroupKind{Group: "example.org", Kind: "App"}
	e.childKinds[gk] = "v1" // as in the status of the TemplateController
	for _, step := range []struct {
		version, want string
		round         int64
	}{{"v2", "v2", 1}, {"v1", "v2", 1}} {
		c.controllers.AddKinds("apps", []schema.GroupVersionKind{gk.WithVersion(step.version)})
		if got := e.childKinds[gk]; got != step.want || e.round != step.round {
			t.Errorf("%s: version %s in round %d, want %s in %d", step.version, got, e.round, step.want, step.round)
		}
	}
}

func TestUndecodableTemplateControllerIsRetried(t *testing.T) {
	c := newCluster(t)
	odd := c.KubectlApply(apps).DeepCopy()
	odd.Object["spec"].(map[string]any)["watch"] = "odd"
	c.Store(appsController, odd)
	c.Deliver()
	if err := c.controllers.Sync(t.Context(), "apps"); err == nil {
		t.Error("no error")
	}
}

func TestTenantIsNamespaceOfServiceAccount(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(asRobot(t))
	c.RunControllers()
	if got, known := c.controllers.tenants.Of("apps"); got != "namespace:team" || !known {
		t.Errorf("tenant %q, known %v", got, known)
	}
}

func TestRecreatedTemplateControllerStartsWithNewState(t *testing.T) {
	c := newCluster(t)
	tc := &v1.TemplateController{ObjectMeta: metav1.ObjectMeta{Name: "apps", UID: "1"}}
	first := c.controllers.track(tc)
	if c.controllers.track(tc) != first {
		t.Error("what is known of it is forgotten")
	}
	tc.UID = "2"
	if next := c.controllers.track(tc); next == first || next.uid != tc.UID {
		t.Error("what was known of the one before is taken for its own")
	}
}

func TestCloseShutsDownAllQueues(t *testing.T) {
	c := newCluster(t)
	c.controllers.Close()
	for name, ended := range map[string]bool{
		"controllers": c.controllers.queue.ShuttingDown(), "parents": c.ParentQueue.ShuttingDown(), "rights": !c.controllers.rights.Next(t.Context()),
	} {
		if !ended {
			t.Errorf("the queue of %s goes on", name)
		}
	}
}

func TestControllerDoesNotStartWithoutFinalizer(t *testing.T) {
	c := newCluster(t)
	refused := errors.New("refused")
	c.Refuse["finalizers[templater.dev/children] templatecontrollers apps"] = refused
	c.KubectlApply(withSpec(t, apps, "whenDeleted: DeleteChildren"))
	if err := c.controllers.Sync(t.Context(), "apps"); !errors.Is(err, refused) || c.controllers.get("apps") != nil {
		t.Errorf("err = %v, want %v; it runs: %v", err, refused, c.controllers.get("apps") != nil)
	}
}

func TestNextStopsWhenContextIsDone(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if c.controllers.next(ctx, t.Context(), func() {}) || c.controllers.tracked["apps"] != nil {
		t.Error("one is looked at")
	}
}

func TestUnusedUnknownKindEnqueuesNoParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, apps, "kind: ConfigMap", "kind: Unknown"))
	c.KubectlApply(app)
	c.Run()
	gk := schema.GroupKind{Kind: "Unknown"}
	c.controllers.kindChanged(gk)
	if c.ParentQueue.Len() == 0 {
		t.Error("a kind that is missed is not waited for")
	}
	c.KubectlApply(apps)
	c.Run()
	c.controllers.kindChanged(gk)
	if n := c.ParentQueue.Len(); n > 0 {
		t.Errorf("%d parents are looked at for a kind that no template has", n)
	}
}

func TestParentSelection(t *testing.T) {
	front, err := labels.Parse("tier=front")
	if err != nil {
		t.Fatal(err)
	}
	some := map[string]*watch.Cache{"ns": nil, "other": cacheOf(t)}
	for why, row := range map[string]struct {
		watch     v1.Watch
		labels    labels.Selector
		selective bool
		selects   bool // an object with that label, in namespace other
	}{
		"all":                          {v1.Watch{}, labels.Everything(), false, true},
		"those with a label":           {v1.Watch{}, front, true, true},
		"those without":                {v1.Watch{}, labels.Nothing(), true, false},
		"those with a field":           {v1.Watch{FieldSelector: "a=b"}, labels.Everything(), true, true},
		"those in some namespaces":     {v1.Watch{Namespaces: []string{"other"}}, labels.Everything(), true, true},
		"those in another namespace":   {v1.Watch{Namespaces: []string{"ns"}}, labels.Everything(), true, false},
		"those in one, with the label": {v1.Watch{Namespaces: []string{"other"}}, front, true, true},
	} {
		t.Run(why, func(t *testing.T) {
			c := &controller.Controller{Definition: controller.Definition{Spec: &v1.TemplateControllerSpec{Watch: row.watch}, Labels: row.labels}, Caches: controller.Caches{Parents: map[string]*watch.Cache{}}}
			for _, ns := range row.watch.Namespaces {
				c.Parents[ns] = some[ns]
			}
			if got := c.Selective(); got != row.selective {
				t.Errorf("selective is %v, want %v", got, row.selective)
			}
			if got := c.Selects("other", labels.Set{"tier": "front"}); got != row.selects {
				t.Errorf("selects is %v, want %v", got, row.selects)
			}
		})
	}
}

func TestEachChildByNamespace(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {resourceVersion: \"1\", labels: {templater.dev/controller: apps}, name: a, namespace: "
	caches := map[string]*watch.Cache{"x": cacheOf(t, manifest+"x}"), "y": cacheOf(t, manifest+"y}")}
	c := &controller.Controller{Definition: controller.Definition{Name: "apps"}, Caches: controller.Caches{Sources: map[schema.GroupKind]controller.Source{{Kind: "ConfigMap"}: {Caches: caches}}}, Factory: &child.Factory{Ownership: &child.Ownership{}}}
	for namespace, want := range map[string]int{"x": 1, "": 2, "z": 0} {
		all := func(cache *watch.Cache) (out []*object.Object) {
			cache.EachChild("apps", func(o *object.Object) { out = append(out, o) })
			return out
		}
		if got := c.Children(namespace, all, child.NewLive); len(got) != want {
			t.Errorf("namespace %q: %d children, want %d", namespace, len(got), want)
		}
	}
	if !c.Complete("x") {
		t.Error("all are known")
	}
	c.Sources[schema.GroupKind{Kind: "Other"}] = controller.Source{Err: errors.New("no answer")}
	if c.Complete("x") || c.CompleteEverywhere() {
		t.Error("those of a kind of which nothing is known count as known")
	}
}

func TestCacheScope(t *testing.T) {
	for why, row := range map[string]struct {
		caches map[string]*watch.Cache
		want   string
	}{
		"of all namespaces": {map[string]*watch.Cache{"": cacheOf(t)}, ""},
		"of some":           {map[string]*watch.Cache{"ns": cacheOf(t)}, "ns"},
	} {
		t.Run(why, func(t *testing.T) {
			if got := (controller.Source{Caches: row.caches}).Scope("ns"); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

func TestAddKindsRecordsForgottenKinds(t *testing.T) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	for why, row := range map[string]struct{ known, settled, want bool }{
		"new":                     {false, false, true},
		"forgotten":               {false, true, true},
		"of another version":      {true, false, true},
		"taken up by another one": {true, true, false},
	} {
		t.Run(why, func(t *testing.T) {
			c, e := newCluster(t), newTracked("u")
			c.controllers.tracked["apps"] = e
			if row.known {
				e.childKinds[gvk.GroupKind()] = "v1beta1"
			}
			e.settled[gvk.GroupKind()] = row.settled
			c.controllers.AddKinds("apps", []schema.GroupVersionKind{gvk})
			if got := e.childKinds[gvk.GroupKind()] == "v1"; got != row.want || (e.round == 1) != row.want {
				t.Errorf("taken up: %v, want %v; round %d", got, row.want, e.round)
			}
		})
	}
}

func TestEnterRequiresRunningController(t *testing.T) {
	c, e := newCluster(t), newTracked("u")
	c.controllers.tracked["apps"] = e
	if running, _ := c.controllers.Enter("apps"); running != nil || e.inProgress.Load() > 0 {
		t.Errorf("%v runs, and %d reconciliations are under way", running, e.inProgress.Load())
	}
}

func TestMissingKindIsResetAfterDiscovery(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	app := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "App"}
	c.Refuse["kind App"] = &kind.NotFoundError{GVK: app}
	c.Run()
	e := c.controllers.tracked["apps"]
	if !e.gone {
		t.Fatal("the kind is not known to be gone")
	}
	for _, err := range []error{errors.New("no answer"), nil} {
		e.gone = true
		c.Refuse["kind App"] = err
		c.controllers.queue.Add("apps")
		c.RunControllers()
		if e.gone {
			t.Errorf("the server says %v, and the kind counts as gone", err)
		}
		if _, again := c.ControllerQueue.Due("apps"); err != nil && !again {
			t.Error("the server is not asked again")
		}
	}
}

func TestSpecEditResetsSettledKindVersions(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	e := c.controllers.tracked["apps"]
	if len(e.settled) != 1 {
		t.Fatalf("settled are %v", e.settled)
	}
	c.KubectlApply(with(t, apps, "count:", "n:"))
	c.RunControllers()
	if len(e.settled) > 0 {
		t.Errorf("settled are %v after an edit", e.settled)
	}
}
