package controllers

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// ofClass returns the TemplateController apps with that class, "" or "b".
func ofClass(class string) string {
	return fmt.Sprintf(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  className: %q
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: config
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
      data: {size: "{{ .spec.size }}"}
`, class)
}

const anApp = `
apiVersion: example.org/v1
kind: App
metadata: {name: a, namespace: ns}
spec: {size: 1}
`

// servedBy returns the class that serves apps.
func (c *cluster) servedBy() string {
	class, found, _ := unstructured.NestedString(c.Objects[appsController].Object, "status", "className")
	if !found {
		return "nobody"
	}
	return fmt.Sprintf("%q", class)
}

// give makes another class serve apps, by its status.
func (c *cluster) give(class string) {
	c.T.Helper()
	o := c.Objects[appsController].DeepCopy()
	if err := unstructured.SetNestedField(o.Object, class, "status", "className"); err != nil {
		c.T.Fatal(err)
	}
	c.Store(appsController, o)
	c.Deliver()
}

// watched returns the number of watches of apps.
func (c *cluster) watched() int { return len(c.Owned["apps"]) }

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestStandbyWatchesWithoutWriting(t *testing.T) {
	c := newCluster(t)
	c.standby()
	c.KubectlApply(ofClass(""))
	c.KubectlApply(anApp)
	version := c.Version
	expect(t, "requests", []string{}, c.Run())
	expect(t, "version of the last write", version, c.Version)
	expect(t, "watches", 2, c.watched())
	if n := c.ParentQueue.Len(); n != 0 {
		t.Errorf("%d parents queued", n)
	}
	if e := c.controllers.tracked["apps"]; e.compiled == nil {
		t.Error("the templates are not compiled")
	}
	c.controllers.Lead()
	expect(t, "requests of the leader", []string{"create configmaps a", "status apps a"}, c.Run())
	expect(t, "class", `""`, c.servedBy())
}

func TestTakeoverOfUpToDateStateWritesNothing(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.KubectlApply(anApp)
	c.Run()
	c.controllers.queue.Add("apps") // for the counts
	c.Run()
	c.standby()
	c.Run()
	version := c.Version
	c.controllers.Lead()
	expect(t, "requests", []string{}, c.Run())
	expect(t, "version of the last write", version, c.Version)
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour)) // it was a standby for long before it leads
	c.controllers.queue.Add("apps")
	c.Run()
	expect(t, "version of the last write", version, c.Version)
}

func TestStandbyWatchesKindsAddedByLeader(t *testing.T) {
	c := newCluster(t)
	c.standby()
	c.KubectlApply(ofClass(""))
	c.Run()
	o := c.Objects[appsController].DeepCopy()
	o.Object["status"] = map[string]any{"childKinds": []any{map[string]any{"group": "", "version": "v1", "kind": "ConfigMap"}}}
	c.Store(appsController, o)
	c.Deliver()
	c.Run()
	expect(t, "watches", 2, c.watched())
}

func TestOtherClassesAreIgnored(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass("b"))
	c.KubectlApply(anApp)
	version := c.Version
	expect(t, "requests", []string{}, c.Run())
	expect(t, "version of the last write", version, c.Version)
	expect(t, "watches", 0, c.watched())
	expect(t, "entries", 0, len(c.controllers.tracked))
	c.give("b")
	version = c.Version
	c.KubectlApply(ofClass("c"))
	expect(t, "requests when others move it", []string{}, c.Run())
	expect(t, "version of the last write", version+1, c.Version)
}

func TestHandoverToAnotherClass(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.KubectlApply(anApp)
	c.Run()
	kinds, _, _ := unstructured.NestedSlice(c.Objects[appsController].Object, "status", "childKinds")
	c.KubectlApply(ofClass("b"))
	expect(t, "requests", []string{}, c.Run())
	expect(t, "class", "nobody", c.servedBy())
	expect(t, "condition", `False Released: released by the installation with --class-name "", but not yet taken over by the installation with --class-name "b": check that the latter is running`,
		c.Condition("templatecontrollers", "apps", v1.ConditionReady))
	expect(t, "Accepted", "True Accepted: the spec is valid", c.Condition("templatecontrollers", "apps", v1.ConditionAccepted))
	after, _, _ := unstructured.NestedSlice(c.Objects[appsController].Object, "status", "childKinds")
	expect(t, "child kinds", kinds, after)
	expect(t, "watches", 0, c.watched())
	c.KubectlApply(`
apiVersion: example.org/v1
kind: App
metadata: {name: a, namespace: ns}
spec: {size: 2}
`)
	c.ParentQueue.Add(queue.Key{Controller: "apps", Parent: types.NamespacedName{Namespace: "ns", Name: "a"}})
	expect(t, "requests afterwards", []string{}, c.Run())
	if c.Find("configmaps", "a") == nil {
		t.Error("the child is gone")
	}

	c.KubectlApply(ofClass(""))
	expect(t, "requests when it is back", []string{"update configmaps a", "status apps a"}, c.Run())
	expect(t, "class", `""`, c.servedBy())
	expect(t, "Ready", "True Ready: accepted and watching", c.Condition("templatecontrollers", "apps", v1.ConditionReady))
}

func TestHandoverWaitsForRunningReconciliations(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.KubectlApply(anApp)
	c.Run()
	_, leave := c.controllers.Enter("apps")
	c.KubectlApply(ofClass("b"))
	ctx, done := c.controllers.tracker.Join(t.Context()), make(chan error, 1)
	go func() { done <- c.controllers.Sync(ctx, "apps") }()
	eventually(t, "it waits for the reconciliation under way", func() bool {
		select {
		case err := <-done:
			t.Fatalf("handed over although a reconciliation is under way: %v", err)
		default:
		}
		return c.controllers.get("apps") == nil
	})
	leave()
	if err := <-done; err != nil {
		t.Error(err)
	}
	expect(t, "class", "nobody", c.servedBy())
}

func TestStandbyDoesNotHandOver(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.Run()
	c.standby()
	c.KubectlApply(ofClass("b"))
	c.Run()
	expect(t, "class", `""`, c.servedBy())
	c.controllers.Lead() // the old leader died before it could
	c.Run()
	expect(t, "class", "nobody", c.servedBy())
}

func TestTakeoverWaitsForHandover(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass("b"))
	c.KubectlApply(anApp)
	c.give("b")
	c.KubectlApply(ofClass(""))
	version := c.Version
	for range 3 {
		expect(t, "requests while b serves it", []string{}, c.Run())
		c.Clock.SetTime(c.Clock.Now().Add(9 * time.Second))
		c.controllers.queue.Add("apps")
	}
	expect(t, "version of the last write", version, c.Version)
	expect(t, "class", `"b"`, c.servedBy())
	expect(t, "watches", 2, c.watched()) // the caches are warm

	o := c.Objects[appsController].DeepCopy()
	unstructured.RemoveNestedField(o.Object, "status", "className")
	c.Store(appsController, o)
	c.Deliver()
	expect(t, "requests when it was handed over", []string{"create configmaps a", "status apps a"}, c.Run())
	expect(t, "class", `""`, c.servedBy())
}

func TestTakeoverFromUnresponsiveClass(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass("b"))
	c.KubectlApply(anApp)
	c.give("b")
	c.KubectlApply(ofClass(""))
	c.Run()
	c.Clock.SetTime(c.Clock.Now().Add(handoverTime - time.Second))
	c.give("c") // another class begins to hand over
	expect(t, "requests when it was handed on", []string{}, c.Run())
	c.Clock.SetTime(c.Clock.Now().Add(handoverTime - time.Second))
	c.controllers.queue.Add("apps")
	expect(t, "requests shortly before", []string{}, c.Run())
	c.Clock.SetTime(c.Clock.Now().Add(time.Second))
	c.controllers.queue.Add("apps")
	expect(t, "requests", []string{"create configmaps a", "status apps a"}, c.Run())
	expect(t, "class", `""`, c.servedBy())
}

func TestControllerStopsAfterTakeoverByAnotherClass(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.KubectlApply(anApp)
	c.Run()
	c.give("b") // as if the operator had not observed for 30 s that the class changed to b and back
	c.KubectlApply(`
apiVersion: example.org/v1
kind: App
metadata: {name: a, namespace: ns}
spec: {size: 2}
`)
	c.controllers.queue.Add("apps")
	for c.controllers.queue.Len() > 0 {
		name, _ := c.controllers.queue.Get()
		if err := c.controllers.Sync(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		c.controllers.queue.Done(name)
	}
	expect(t, "requests", []string{}, c.Run())
	expect(t, "class", `"b"`, c.servedBy())
}

func TestStaleTemplateControllerIsNotWritten(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.Run()
	c.KubectlApply(ofClass("b"))
	for c.controllers.queue.Len() > 0 {
		name, _ := c.controllers.queue.Get()
		c.controllers.queue.Done(name)
	}
	o := c.Objects[appsController].DeepCopy()
	o.SetAnnotations(map[string]string{"new": "yes"})
	c.Store(appsController, o) // not delivered by the watch yet
	if err := c.controllers.Sync(t.Context(), "apps"); !errors.Is(err, store.ErrBehind) {
		t.Errorf("got %v, want %v", err, store.ErrBehind)
	}
	expect(t, "class", `""`, c.servedBy())
	c.Deliver()
	c.Run()
	expect(t, "class", "nobody", c.servedBy())
}

func TestFinalizerConflictIsRetried(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass("") + "  whenDeleted: DeleteChildren\n")
	c.Refuse["finalizers[templater.dev/children] templatecontrollers apps"] = apierrors.NewConflict(v1.Resource.GroupResource(), "apps", errors.New("newer"))
	if err := c.controllers.Sync(t.Context(), "apps"); !errors.Is(err, store.ErrBehind) {
		t.Errorf("got %v, want %v", err, store.ErrBehind)
	}
	clear(c.Refuse)
	requests := c.Run()
	if !slices.Contains(requests, "finalizers[templater.dev/children] templatecontrollers apps") {
		t.Errorf("requests %v", requests)
	}
	expect(t, "class", `""`, c.servedBy())
}

func TestStaleWatchRetriesBackOff(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.Run()
	before := c.controllers.queue.NumRequeues("apps")
	for range 3 {
		c.controllers.again(t.Context(), "apps", store.ErrBehind)
	}
	expect(t, "tries that count", before+3, c.controllers.queue.NumRequeues("apps"))
	c.controllers.again(t.Context(), "apps", nil)
	expect(t, "tries that count after a success", 0, c.controllers.queue.NumRequeues("apps"))
}

func TestTrackUsesKindVersionsFromStatus(t *testing.T) {
	c := newCluster(t)
	gk := schema.GroupKind{Group: "batch", Kind: "Job"}
	tc := &v1.TemplateController{}
	c.controllers.track(tc).childKinds[gk] = "v1beta1"
	tc.Status.ChildKinds = []v1.ChildKind{{Group: gk.Group, Version: "v1", Kind: gk.Kind}}
	if got := c.controllers.track(tc).childKinds[gk]; got != "v1" {
		t.Errorf("version %s, want that of the status", got)
	}
}
