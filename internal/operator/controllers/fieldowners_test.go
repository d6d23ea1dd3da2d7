package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

func (c *cluster) writable(controller string) string {
	c.controllers.queue.Add(controller)
	c.RunControllers()
	return c.Condition("templatecontrollers", controller, "StatusWritable")
}

func TestStatusFieldHasOneWriter(t *testing.T) {
	const (
		fine  = "True StatusWritable: the ready condition can be written to parents"
		taken = "False FieldOwned: .status.color.now is also written by TemplateController xs, so this TemplateController does not write it to 1 parent: remove it from one of them, or make them select different parents"
	)
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: {now: red}"))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(statusOnly("ys", "color: {now: blue, next: green}"))
	writes := c.Settle()
	c.WantStatus("who comes first keeps the field", map[string]any{"color": map[string]any{"now": "red", "next": "green"}})
	wantRequests(t, "no fight", writes, "status apps one")
	if x, y := c.writable("xs"), c.writable("ys"); x != fine || y != taken {
		t.Errorf("conditions %q and %q, want %q and %q", x, y, fine, taken)
	}
	if got, want := c.Condition("apps", "one", "YS"), "True Ready: all children are ready: 0"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.start()
	wantRequests(t, "after a restart", c.Settle())

	c.KubectlApply(statusOnly("xs", "other: red"))
	c.Settle()
	c.WantStatus("x lets go", map[string]any{"color": map[string]any{"now": "blue", "next": "green"}, "other": "red"})
	if got := c.writable("ys"); got != fine {
		t.Errorf("condition %q, want %q", got, fine)
	}
}

func TestStatusFieldIsReleasedWithItsTemplateController(t *testing.T) {
	for why, leave := range map[string]func(*cluster){
		"it was deleted": func(c *cluster) { c.RemoveNow(reconciletest.ControllerAt("xs")) },
		"it watches another kind now": func(c *cluster) {
			c.KubectlApply(with(t, statusOnly("xs", "color: red"), "kind: App}", "kind: Cluster}"))
		},
		"it selects other parents now": func(c *cluster) {
			c.KubectlApply(with(t, statusOnly("xs", "color: red"), "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: back}}}"))
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(statusOnly("xs", "color: red"))
			c.KubectlApply(app)
			c.Settle()
			c.KubectlApply(statusOnly("ys", "color: blue"))
			c.Settle()
			leave(c)
			c.Settle()
			c.WantStatus(why, map[string]any{"color": "blue"})
			wantRequests(t, "afterwards", c.Settle())
		})
	}
}

// otherClass returns a TemplateController of another installation that writes a color to the status.
func otherClass(t *testing.T, name, kind string) string {
	t.Helper()
	return withSpec(t, with(t, statusOnly(name, "color: red"), "kind: App}", "kind: "+kind+"}"), "className: other")
}

// served returns the status of a TemplateController that is served by the installation of that class.
func served(class, accepted string, generation int) string {
	return fmt.Sprintf(`
status:
  className: %q
  conditions: [{type: Accepted, status: %q, reason: Any, message: "", observedGeneration: %d, lastTransitionTime: "2026-01-01T00:00:00Z"}]
`, class, accepted, generation)
}

// TestForgedStatusFieldManagerIsOverridden writes a status field and the ready condition with the field manager of a
// TemplateController of another installation.
func TestForgedStatusFieldManagerIsOverridden(t *testing.T) {
	for why, manifest := range map[string]string{
		"it watches another kind": otherClass(t, "elsewhere", "Cluster") + served("other", "True", 1),
		"nobody serves it":        otherClass(t, "elsewhere", "App"),
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(manifest)
			c.KubectlApply(app)
			forged := `{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": "ns", "name": "one"},
				"status": {"color": "forged", "conditions": [{"type": "XS", "status": "False", "reason": "Forged", "message": "forged", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`
			if _, err := c.ApplyStatus(t.Context(), one, []byte(forged), v1.FieldManagerPrefix+"elsewhere", true); err != nil {
				t.Fatal(err)
			}
			c.KubectlApply(statusOnly("xs", "color: red"))
			c.Settle()
			c.WantStatus("the field is that of who watches the kind", map[string]any{"color": "red"})
			if got, want := c.Condition("apps", "one", "XS"), "True Ready: all children are ready: 0"; got != want {
				t.Errorf("ready condition %q, want %q", got, want)
			}
			if got, want := c.writable("xs"), "True StatusWritable: the ready condition can be written to parents"; got != want {
				t.Errorf("condition %q, want %q", got, want)
			}
			wantRequests(t, "afterwards", c.Settle())
		})
	}
}

// TestUnobservedTemplateControllerKeepsStatusFields: the watch of TemplateControllers fails before it delivers the one
// that wrote the fields.
func TestUnobservedTemplateControllerKeepsStatusFields(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: blue"))
	c.Settle()
	c.FailWatches("templatecontrollers", errors.New("no answer"))
	c.KubectlApply(app)
	if _, err := c.ApplyStatus(t.Context(), one, []byte(`{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": "ns", "name": "one"}, "status": {"color": "red"}}`), v1.FieldManagerPrefix+"elsewhere", true); err != nil {
		t.Fatal(err)
	}
	c.Settle()
	c.WantStatus("it may have been created meanwhile", map[string]any{"color": "red"})
	c.FailWatches("templatecontrollers", nil)
	c.start()
	c.Settle()
	c.WantStatus("there is none of that name", map[string]any{"color": "blue"})
}

// TestEditByAnotherInstallationReleasesNoStatusField: this installation observes the edit first.
func TestEditByAnotherInstallationReleasesNoStatusField(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(otherClass(t, "elsewhere", "App") + served("other", "True", 1))
	c.KubectlApply(app)
	if _, err := c.ApplyStatus(t.Context(), one, []byte(`{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": "ns", "name": "one"}, "status": {"color": "red"}}`), v1.FieldManagerPrefix+"elsewhere", true); err != nil {
		t.Fatal(err)
	}
	c.KubectlApply(statusOnly("xs", "color: blue"))
	c.Settle()
	c.WantStatus("who comes first keeps the field", map[string]any{"color": "red"})
	c.KubectlEdit(reconciletest.ControllerAt("elsewhere"), func(o *unstructured.Unstructured) {
		o.SetGeneration(2)
		_ = unstructured.SetNestedField(o.Object, "color: green", "spec", "status", "template")
	})
	c.Settle()
	c.WantStatus("the other installation is still to look at the edit", map[string]any{"color": "red"})
}

func TestTeardownKeepsStatusFieldsOfOthers(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: red"))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(with(t, finalized(t, ", timeout: 0s"), "      count:", "      color: blue\n      count:"))
	c.Settle()
	c.KubectlEdit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "it waits", c.Settle(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", "status apps one")
	c.WantStatus("during teardown", map[string]any{"color": "red", "count": int64(1)})
	const taken = "False FieldOwned: .status.color is also written by TemplateController xs, so this TemplateController does not write it to 1 parent: remove it from one of them, or make them select different parents"
	if got := c.writable("apps"); got != taken {
		t.Errorf("condition %q, want %q", got, taken)
	}
	wantRequests(t, "once more", c.Settle())
}

func TestWatchingAnotherKindRequeuesContestedParents(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: red"))
	c.KubectlApply(app)
	c.Settle()
	c.KubectlApply(statusOnly("ys", "color: blue"))
	c.Settle()
	c.KubectlApply(with(t, statusOnly("xs", "color: red"), "kind: App}", "kind: Cluster}"))
	reconciletest.Take(c.ParentQueue)
	if err := c.controllers.Sync(t.Context(), "xs"); err != nil {
		t.Error(err)
	}
	if got := reconciletest.Take(c.ParentQueue); !slices.Contains(got, "ys/one") {
		t.Errorf("%v are looked at, want ys/one too", got)
	}
}

func TestFirstContestedStatusFieldIsReported(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(app)
	for _, one := range []string{"us", "vs"} {
		c.KubectlApply(statusOnly(one, one+": red"))
		c.Settle()
	}
	c.KubectlApply(statusOnly("xs", "{us: blue, vs: blue}"))
	c.Settle()
	c.WantStatus("both stay", map[string]any{"us": "red", "vs": "red"})
	if got, want := c.writable("xs"), "False FieldOwned: .status.us is also written by TemplateController us, so this TemplateController does not write it"; !strings.HasPrefix(got, want) {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestPossibleStatusWriters(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(statusOnly("xs", "color: red"))
	c.KubectlApply(otherClass(t, "served", "App") + served("other", "True", 1))
	c.KubectlApply(otherClass(t, "edited", "App") + served("other", "True", 0))
	c.KubectlApply(otherClass(t, "unserved", "App"))
	c.KubectlApply(otherClass(t, "rejected", "App") + served("other", "False", 1))
	c.KubectlApply(otherClass(t, "moved", "App") + served("yet another", "True", 0))
	c.KubectlApply(otherClass(t, "unserved-clusters", "Cluster"))
	c.KubectlApply(otherClass(t, "served-clusters", "Cluster") + served("other", "True", 1))
	c.KubectlApply(with(t, statusOnly("clusters", "color: red"), "kind: App}", "kind: Cluster}"))
	c.KubectlApply(with(t, statusOnly("back", "color: red"), "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: back}}}"))
	c.KubectlApply(statusOnly("wrong", "{{"))
	c.KubectlApply(statusOnly("reads", "color: red"))
	c.KubectlApply(app)
	c.Run()
	unread, err := watch.NewCache(watch.Want{Role: watch.Parent}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	c.controllers.get("reads").Parents[""], c.controllers.get("clusters").Parents[""] = unread, unread
	c.controllers.mu.Lock()
	c.controllers.tracked["wrong"].current = nil // as if it reported nothing to parents
	c.controllers.mu.Unlock()
	for name, want := range map[string]bool{
		"xs": true, "served": true, "edited": true, "unserved": false, "rejected": false, "moved": true, "unserved-clusters": false, "served-clusters": false,
		"clusters": false, "back": false, "wrong": false, "reads": true, "nobody": false,
	} {
		if got := c.controllers.MayWrite(name, c.controllers.get("xs").GVK.GroupKind(), configMapName("one")); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestRequeueContestedEnqueuesContestedParents(t *testing.T) {
	c := newCluster(t)
	e, quiet := newTracked("u"), newTracked("v")
	for _, name := range []string{"one", "two"} {
		e.counts.Set(configMapName(name), &status.ParentSummary{Contested: ".status.a"})
		quiet.counts.Set(configMapName(name), &status.ParentSummary{})
	}
	e.counts.Set(configMapName("three"), &status.ParentSummary{})
	c.controllers.tracked["apps"], c.controllers.tracked["quiet"] = e, quiet
	for parent, want := range map[string][]string{"one": {"apps/one"}, "": {"apps/one", "apps/two"}, "three": {}} {
		at := configMapName(parent)
		if parent == "" {
			at.Namespace = ""
		}
		c.controllers.requeueContested(at)
		got := reconciletest.Take(c.ParentQueue)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parent %q (-want +got):\n%s", parent, diff)
		}
	}
}

// wantsReady returns a TemplateController that writes the Ready condition.
func wantsReady(t *testing.T, name string) string {
	t.Helper()
	return with(t, statusOnly(name, name+": red"), "readyCondition: "+strings.ToUpper(name), "readyCondition: Ready")
}

func TestSharedReadyConditionIsReportedByBothControllers(t *testing.T) {
	const (
		fine = "True StatusWritable: the ready condition can be written to parents"
		text = "False ConditionOwned: TemplateController %s also writes the Ready condition of %s: the first writer keeps it; " +
			"set a different spec.status.readyCondition in one of them, or select different parents"
	)
	wantBoth := func(t *testing.T, c *cluster, parents string) {
		t.Helper()
		if x, y, wantX, wantY := c.writable("us"), c.writable("vs"), fmt.Sprintf(text, "vs", parents), fmt.Sprintf(text, "us", parents); x != wantX || y != wantY {
			t.Errorf("conditions\n%s\n%s, want\n%s\n%s", x, y, wantX, wantY)
		}
	}
	for _, order := range [][]string{{"us", "vs"}, {"vs", "us"}} {
		t.Run(order[0]+" is first", func(t *testing.T) {
			c := newCluster(t)
			c.KubectlApply(app)
			for _, name := range order {
				c.KubectlApply(wantsReady(t, name))
				c.Settle()
			}
			wantBoth(t, c, "1 parent")
			c.start()
			wantRequests(t, "after a restart", c.Settle())
			wantBoth(t, c, "1 parent")

			c.KubectlApply(with(t, wantsReady(t, order[1]), "readyCondition: Ready", "readyCondition: Other"))
			c.Settle()
			if x, y := c.Condition("templatecontrollers", "us", "StatusWritable"), c.Condition("templatecontrollers", "vs", "StatusWritable"); x != fine || y != fine {
				t.Errorf("once one has another condition: %q and %q, want %q", x, y, fine)
			}
		})
	}
	t.Run("each owns the condition of one parent", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(app)
		c.KubectlApply(wantsReady(t, "us"))
		c.Settle()
		c.KubectlEdit(reconciletest.ControllerAt("us"), func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, true, "spec", "suspend")
		})
		c.PutWithUID(newApp(withName("two")), "uid-two")
		c.KubectlApply(wantsReady(t, "vs"))
		c.Settle()
		c.KubectlEdit(reconciletest.ControllerAt("us"), func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "suspend") })
		c.Settle()
		wantBoth(t, c, "2 parents")
	})
	t.Run("the one that owns it is deleted", func(t *testing.T) {
		c := newCluster(t)
		c.KubectlApply(app)
		for _, name := range []string{"us", "vs"} {
			c.KubectlApply(wantsReady(t, name))
			c.Settle()
		}
		c.RemoveNow(reconciletest.ControllerAt("us"))
		c.Settle()
		if got := c.Condition("templatecontrollers", "vs", "StatusWritable"); got != fine {
			t.Errorf("condition %q, want %q", got, fine)
		}
		c.WantReady("True Ready: all children are ready: 0")
		wantRequests(t, "once more", c.Settle())
	})
}
