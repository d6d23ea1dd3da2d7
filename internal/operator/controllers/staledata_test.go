package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// An object that has lost its label is not part of a plan: it is only found as a conflict.
func TestUnlabeledChildIsNotReplacedOnIncompleteData(t *testing.T) {
	const broken = "  - name: more\n    template: \"{{ if .spec.odd }}{{ fail \\\"x\\\" }}{{ end }}\"\n  status:"
	const replaced = "delete-foreground configmaps a"
	one := newApp(withChildren("a"))
	for why, row := range map[string]struct {
		app  string
		fail func(*cluster)
		want bool
	}{
		"all is known":          {one, nil, true},
		"a template has failed": {with(t, one, "spec: {", "spec: {odd: true, "), nil, false},
		"an earlier leader may have edited it": {one, func(c *cluster) {
			c.controllers.led.Store(true)
			c.controllers.tracked["apps"].confirmed = false
			c.Refuse["get templatecontrollers apps"] = errors.New("no answer")
		}, false},
		"the watch of TemplateControllers fails": {one, func(c *cluster) { c.FailWatches("templatecontrollers", errors.New("no answer")) }, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(with(t, reconciletest.WithStrategy(t, "Recreate"), "  status:", broken))
			c.KubectlApply(one)
			c.Run()
			c.Deliver()
			c.Run()
			c.RemoveLabels("a")
			if row.fail != nil {
				row.fail(c)
			}
			before := len(c.Requests)
			c.KubectlApply(with(t, row.app, "hello", "bye"))
			c.Run()
			if got := slices.Contains(c.Requests[before:], replaced); got != row.want {
				t.Errorf("replaced: %v, want %v; requests %v", got, row.want, c.Requests[before:])
			}
		})
	}
}

func TestNewLeaderDeletesNothingByStaleTemplateController(t *testing.T) {
	for why, row := range map[string]struct {
		newer func(o *unstructured.Unstructured) // change that the watch has not delivered
		err   error
		want  []string
	}{
		"it is as the server has it": {nil, nil, []string{"get templatecontrollers apps", "delete configmaps b"}},
		"the server does not answer": {nil, errors.New("no answer"), []string{"get templatecontrollers apps"}},
		"a newer one wants it": {
			func(o *unstructured.Unstructured) { o.SetGeneration(o.GetGeneration() + 1) }, nil, []string{"get templatecontrollers apps"},
		},
		"another one has its name": {
			func(o *unstructured.Unstructured) { o.SetUID("another") }, nil, []string{"get templatecontrollers apps"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(apps)
			c.KubectlApply(app)
			c.Run()
			c.Deliver()
			c.Run()
			c.standby()
			c.KubectlApply(newApp(withChildren("a")))
			c.Run()
			if row.newer != nil {
				newer := c.Objects[appsController].DeepCopy()
				row.newer(newer)
				c.Store(appsController, newer)
			}
			if row.err != nil {
				c.Refuse["get templatecontrollers apps"] = row.err
			}
			before := len(c.Requests)
			c.controllers.Lead()
			c.Run()
			var got []string
			for _, request := range c.Requests[before:] {
				if slices.Contains(row.want, request) || request == "delete configmaps b" {
					got = append(got, request)
				}
			}
			wantRequests(t, "deletions", got, row.want...)
			waits := c.Condition("apps", "one", "Ready") == "False Progressing: waiting to read the latest version of TemplateController apps"
			if waits == slices.Contains(row.want, "delete configmaps b") {
				t.Errorf("ready condition %q", c.Condition("apps", "one", "Ready"))
			}
		})
	}
}

// TestNewLeaderDeletesNothingByStaleParent: the watch of parents has not delivered an edit, while the watch of
// children has delivered what the previous leader created because of it.
func TestNewLeaderDeletesNothingByStaleParent(t *testing.T) {
	for why, row := range map[string]struct {
		late  bool  // the watch has not delivered the edit
		err   error // response to reading the parent
		wants []string
	}{
		"the watch is late":          {true, nil, []string{reconciletest.ReadParent}},
		"the server does not answer": {false, errors.New("no answer"), []string{reconciletest.ReadParent}},
		"the watch is up to date":    {false, nil, []string{reconciletest.ReadParent, "delete configmaps b"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, apps, app)
			c.standby()
			c.Run()
			if row.late {
				c.KubectlApply(newApp(withChildren("a")))
				c.Store(one, memserver.Usual.Applied(c.Objects[one], parse(t, app).Object, "kubectl", ""))
			} else {
				c.KubectlApply(newApp(withChildren("a")))
			}
			c.Refuse[reconciletest.ReadParent] = row.err
			before := len(c.Requests)
			c.controllers.Lead()
			c.Run()
			var got []string
			for _, request := range c.Requests[before:] {
				if request == reconciletest.ReadParent || strings.HasPrefix(request, "delete ") {
					got = append(got, request)
				}
			}
			wantRequests(t, "deletions", got, row.wants...)
			waits := c.Condition("apps", "one", "Ready") == "False Progressing: waiting for the latest version of this object"
			if row.err != nil && !waits {
				t.Errorf("ready condition %q", c.Condition("apps", "one", "Ready"))
			}
			delete(c.Refuse, reconciletest.ReadParent)
			c.Settle()
			if got := c.Find("configmaps", "b") != nil; got != row.late {
				t.Errorf("b exists: %v, want %v", got, row.late)
			}
			before = len(c.Requests)
			c.KubectlApply(newApp(withChildren()))
			c.Settle()
			if asked := slices.Contains(c.Requests[before:], reconciletest.ReadParent); asked != row.late || c.Find("configmaps", "a") != nil {
				t.Errorf("asked once more: %v, want %v; requests %v", asked, row.late, c.Requests[before:])
			}
		})
	}
}

// TestNewLeaderDoesNotReleaseParentBasedOnStaleTemplateController: the spec is suspended, but the watch has not
// delivered that.
func TestNewLeaderDoesNotReleaseParentBasedOnStaleTemplateController(t *testing.T) {
	for why, decide := range map[string]func(c *cluster){
		"the parent is being deleted":             func(c *cluster) { c.KubectlDelete(one, metav1.DeletePropagationBackground) },
		"the parent no longer matches":            func(c *cluster) { c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) }) },
		"the TemplateController is being deleted": func(c *cluster) { c.startDeletion() },
	} {
		for what, suspended := range map[string]bool{"the spec is as before": false, "the spec is suspended": true} {
			t.Run(why+", "+what, func(t *testing.T) {
				c := settled(t, frontOnly(t, finalized(t)))
				c.RemoveNow(configMap("a"))
				c.RemoveNow(configMap("b"))
				c.standby()
				c.Run()
				decide(c)
				if suspended {
					newer := c.Objects[appsController].DeepCopy()
					newer.SetGeneration(newer.GetGeneration() + 1)
					if err := unstructured.SetNestedField(newer.Object, true, "spec", "suspend"); err != nil {
						t.Fatal(err)
					}
					c.Store(appsController, newer)
				}
				before := len(c.Requests)
				c.controllers.Lead()
				c.Run()
				if slices.Contains(c.Requests[before:], releaseParent) == suspended {
					t.Errorf("suspended: %v, requests %v", suspended, c.Requests[before:])
				}
			})
		}
	}
}

// The previous leader has created children of a kind that the watch has not delivered.
func TestNewLeaderKeepsChildKindsMissingFromItsCache(t *testing.T) {
	c := newCluster(t)
	c.standby()
	c.KubectlApply(ofClass(""))
	c.Run()
	added := c.Objects[appsController].DeepCopy()
	added.Object["status"] = map[string]any{"className": "", "childKinds": []any{map[string]any{"group": "batch", "version": "v1", "kind": "Job"}}}
	c.Store(appsController, added)
	c.Store(locationOf(parse(t, aJobOfApps)), parse(t, aJobOfApps))
	c.controllers.Lead()
	c.Run()
	c.Deliver()
	c.Run()
	if got, want := kinds(c), "Job; configmaps jobs"; got != want {
		t.Errorf("kinds %q, want %q", got, want)
	}
}

// aJobOfApps is a child whose parent does not exist.
const aJobOfApps = "{apiVersion: batch/v1, kind: Job, metadata: {namespace: ns, name: j, labels: {templater.dev/controller: apps}}}"

func TestNewLeaderDoesNotTearDownBasedOnStaleTemplateController(t *testing.T) {
	for why, row := range map[string]struct {
		change func(t *testing.T, c *cluster) // not delivered by the watch
		want   []string
	}{
		"it is as the server has it": {func(*testing.T, *cluster) {}, []string{"status apps one", "get templatecontrollers apps", "delete configmaps a", "delete configmaps b", "finalizers[] templatecontrollers apps"}},
		"it is suspended meanwhile": {func(t *testing.T, c *cluster) {
			t.Helper()
			newer := c.Objects[appsController].DeepCopy()
			if err := unstructured.SetNestedField(newer.Object, true, "spec", "suspend"); err != nil {
				t.Fatal(err)
			}
			c.Store(appsController, newer)
		}, []string{"status apps one", "get templatecontrollers apps", "finalizers[] templatecontrollers apps"}},
		"the watch of TemplateControllers fails": {func(_ *testing.T, c *cluster) { c.FailWatches("templatecontrollers", errors.New("no answer")) }, []string{"status apps one"}},
	} {
		t.Run(why, func(t *testing.T) {
			c := deletedWithChildren(t, apps, "", false)
			c.standby()
			c.Run()
			row.change(t, c)
			before := len(c.Requests)
			c.controllers.Lead()
			c.Run()
			c.Deliver()
			c.Run()
			wantRequests(t, "it goes", c.Requests[before:], row.want...)
		})
	}
}

func TestKindsAddedByAnotherClassAreKnownAfterHandback(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(ofClass(""))
	c.Settle()
	c.give("b")
	c.Run()
	back := c.Objects[appsController].DeepCopy()
	back.Object["status"] = map[string]any{"childKinds": []any{map[string]any{"group": "batch", "version": "v1", "kind": "Job"}}}
	c.Store(appsController, back)
	c.Store(locationOf(parse(t, aJobOfApps)), parse(t, aJobOfApps))
	c.Deliver()
	c.Run()
	if got, want := c.servedBy()+" "+kinds(c), `"" Job; configmaps jobs`; got != want {
		t.Errorf("served by, and kinds %s, want %s", got, want)
	}
}

// healing is a Client whose applies restore the watch of TemplateControllers.
type healing struct {
	controller.Client
	cluster *cluster
}

func (w healing) Apply(ctx context.Context, at request.Location, body []byte, manager string) (*object.Object, error) {
	w.cluster.FailWatches("templatecontrollers", nil)
	return w.Client.Apply(ctx, at, body, manager)
}

func TestPruningResumesWhenWatchRecoversDuringReconciliation(t *testing.T) {
	c := newCluster(t)
	c.through(func(client controller.Client) controller.Client { return healing{client, c} })
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	c.Run()
	c.FailWatches("templatecontrollers", errors.New("no answer"))
	c.KubectlApply(newApp(withChildren("a"), withText("bye")))
	c.Settle()
	if c.Find("configmaps", "b") != nil {
		t.Error("what is wanted no more is there still")
	}
}

func TestUnknownTemplateControllerMayNotPrune(t *testing.T) {
	c := newCluster(t)
	c.controllers.led.Store(true)
	if c.controllers.MayPrune(t.Context(), &controller.Controller{Definition: controller.Definition{Name: "gone"}}) || len(c.Requests) > 0 {
		t.Errorf("it may delete, or requests %v", c.Requests)
	}
}

// TestSupersededSpecDoesNotDeleteChildren: the watch delivers a newer spec that is not running yet.
func TestSupersededSpecDoesNotDeleteChildren(t *testing.T) {
	suspended := func(manifest string) string { return withSpec(t, manifest, "suspend: true") }
	for why, row := range map[string]struct {
		manifest string
		decide   func(c *cluster)
		lacks    []string // requests
	}{
		"the parent yields fewer children": {apps, func(c *cluster) { c.KubectlApply(newApp(withChildren("a"))) }, []string{"delete configmaps b"}},
		"the parent no longer matches": {frontOnly(t, apps), func(c *cluster) {
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
		}, []string{"delete configmaps a", "delete configmaps b"}},
		"the parent was deleted, and the garbage collector is late": {apps, func(c *cluster) {
			c.RemoveNow(one)
			c.Reconcile("apps", "one")
			c.Clock.SetTime(c.Clock.Now().Add(2 * queue.CollectorTime))
		}, []string{"delete configmaps a", "delete configmaps b"}},
		"the parent is being deleted": {finalized(t), func(c *cluster) { c.KubectlDelete(one, metav1.DeletePropagationBackground) }, []string{"delete-foreground configmaps a", "delete-foreground configmaps b"}},
		"the parent is being deleted and has no children": {finalized(t), func(c *cluster) {
			c.RemoveNow(configMap("a"))
			c.RemoveNow(configMap("b"))
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
		}, []string{releaseParent}},
		"the parent no longer matches and has no children": {frontOnly(t, finalized(t)), func(c *cluster) {
			c.RemoveNow(configMap("a"))
			c.RemoveNow(configMap("b"))
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetLabels(nil) })
		}, []string{releaseParent}},
	} {
		t.Run(why, func(t *testing.T) {
			c := settled(t, row.manifest)
			manifest := suspended(row.manifest)
			if c.Objects[appsController].GetFinalizers() != nil {
				manifest = with(t, manifest, "{name: apps}", "{name: apps, finalizers: ["+v1.FinalizerChildren+"]}")
			}
			c.KubectlApply(manifest)
			if running := c.controllers.get("apps"); running == nil || running.Spec.Suspend {
				t.Fatal("the earlier spec is not running any more")
			}
			before := len(c.Requests)
			row.decide(c)
			result, _ := c.Reconcile("apps", "one")
			for _, request := range c.Requests[before:] {
				if slices.Contains(row.lacks, request) {
					t.Errorf("request %q by the superseded spec", request)
				}
			}
			if result == (reconcile.Result{}) {
				t.Error("it is not tried again")
			}
			clear(c.Refuse)
			c.KubectlApply(strings.Replace(manifest, "suspend: true", "suspend: false", 1))
			c.Settle()
			for _, request := range row.lacks {
				if !slices.Contains(c.Requests[before:], request) {
					t.Errorf("no %q once it is not suspended any more, in %v", request, c.Requests[before:])
				}
			}
		})
	}
}

func TestMayPruneReadsTemplateControllerOnce(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.KubectlApply(app)
	c.Run()
	c.controllers.led.Store(true)
	c.controllers.tracked["apps"].confirmed = false
	before := len(c.Requests)
	for range 2 {
		if !c.controllers.MayPrune(t.Context(), c.controllers.get("apps")) {
			t.Error("it is not confirmed")
		}
	}
	wantRequests(t, "two deletions", c.Requests[before:], "get templatecontrollers apps")
}

// TestWatchFailureStopsDeletionsInProgress: a watch fails, and recovers, during the first request after the decision to
// delete two children.
func TestWatchFailureStopsDeletionsInProgress(t *testing.T) {
	const red = "{apiVersion: v1, kind: Namespace, metadata: {name: ns, labels: {team: red}}}"
	for why, row := range map[string]struct {
		resource string // whose watch fails
		request  string // during which it fails
		decide   func(t *testing.T, c *cluster)
	}{
		"the parent yields less, and a newer version may yield more": {"apps", "update configmaps c", func(_ *testing.T, c *cluster) {
			c.KubectlApply(newApp(withChildren("c"), withText("bye")))
		}},
		"the parent yields less, and a newer template may yield more": {"templatecontrollers", "update configmaps c", func(_ *testing.T, c *cluster) {
			c.KubectlApply(newApp(withChildren("c"), withText("bye")))
		}},
		"the parent matches no longer, and its namespace may by now": {"namespaces", "delete configmaps a", func(_ *testing.T, c *cluster) {
			c.KubectlEdit(request.Location{Resource: controller.Namespaces, Name: "ns"}, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"team": "blue"}) })
		}},
		"the TemplateController is deleted, and may be suspended by now": {"templatecontrollers", "delete configmaps a", func(_ *testing.T, c *cluster) {
			c.startDeletion()
		}},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(red)
			c.KubectlApply(with(t, apps, "kind: App}", "kind: App, namespaceSelector: {matchLabels: {team: red}}}\n  whenDeleted: DeleteChildren"))
			c.KubectlApply(newApp(withChildren("a", "b", "c")))
			c.Run()
			c.Deliver()
			c.Run()
			first := true
			c.During = func() {
				if last := c.Requests[len(c.Requests)-1]; first && last == row.request {
					first = false
					c.FailWatches(row.resource, errors.New("no answer"))
				}
			}
			before := len(c.Requests)
			row.decide(t, c)
			c.Run()
			if first {
				t.Fatalf("no request %q in %v", row.request, c.Requests[before:])
			}
			if slices.Contains(c.Requests[before:], "delete configmaps b") {
				t.Errorf("b was deleted though the watch has failed since that was decided: %v", c.Requests[before:])
			}
			c.FailWatches(row.resource, nil)
			c.Clock.SetTime(c.Clock.Now().Add(2 * problem.SlowRetry))
			c.Run()
			if !slices.Contains(c.Requests[before:], "delete configmaps b") {
				t.Errorf("b is not deleted once all is current again: %v", c.Requests[before:])
			}
		})
	}
}
