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
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// painter is a TemplateController that writes a status alone.
func painter(name, status string) string {
	return `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: ` + name + `}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  status:
    readyCondition: ` + strings.ToUpper(name) + `
    template: '` + status + `'
`
}

// painted is the status of the parent, without conditions.
func painted(c *cluster) map[string]any {
	status, _, _ := unstructured.NestedMap(c.get("apps", "one").Object, "status")
	delete(status, "conditions")
	return status
}

func wantStatus(t *testing.T, why string, c *cluster, want map[string]any) {
	t.Helper()
	if diff := cmp.Diff(want, painted(c)); diff != "" {
		t.Errorf("%s: status (-want +got):\n%s", why, diff)
	}
}

func (c *cluster) writable(controller string) string {
	c.controllers.queue.Add(controller)
	c.runControllers()
	return c.condition("templatecontrollers", controller, "StatusWritable")
}

func controllerAt(name string) request.Location {
	return request.Location{Resource: v1.Resource, Name: name}
}

func TestFieldOfTheStatusHasOneWriter(t *testing.T) {
	const (
		fine  = "True StatusWritable: the ready condition can be written to parents"
		taken = "False FieldOwned: .status.color.now is written by TemplateController xs, so this TemplateController does not write it to 1 parent: remove it from one of the two, or let them select different parents"
	)
	c := newCluster(t)
	c.apply(painter("xs", "color: {now: red}"))
	c.apply(app)
	c.settle()
	c.apply(painter("ys", "color: {now: blue, next: green}"))
	writes := c.settle()
	wantStatus(t, "who comes first keeps the field", c, map[string]any{"color": map[string]any{"now": "red", "next": "green"}})
	wantRequests(t, "no fight", writes, "status apps one")
	if x, y := c.writable("xs"), c.writable("ys"); x != fine || y != taken {
		t.Errorf("conditions %q and %q, want %q and %q", x, y, fine, taken)
	}
	if got, want := c.condition("apps", "one", "YS"), "True Ready: all children are ready: 0"; got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.start()
	wantRequests(t, "after a restart", c.settle())

	c.apply(painter("xs", "other: red"))
	c.settle()
	wantStatus(t, "x lets go", c, map[string]any{"color": map[string]any{"now": "blue", "next": "green"}, "other": "red"})
	if got := c.writable("ys"); got != fine {
		t.Errorf("condition %q, want %q", got, fine)
	}
}

func TestFieldOfATemplateControllerThatIsGoneIsFree(t *testing.T) {
	for why, leave := range map[string]func(*cluster){
		"it was deleted": func(c *cluster) { c.gone(controllerAt("xs")) },
		"it watches another kind now": func(c *cluster) {
			c.apply(with(t, painter("xs", "color: red"), "kind: App}", "kind: Cluster}"))
		},
		"it selects other parents now": func(c *cluster) {
			c.apply(with(t, painter("xs", "color: red"), "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: back}}}"))
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(painter("xs", "color: red"))
			c.apply(app)
			c.settle()
			c.apply(painter("ys", "color: blue"))
			c.settle()
			leave(c)
			c.settle()
			wantStatus(t, why, c, map[string]any{"color": "blue"})
			wantRequests(t, "afterwards", c.settle())
		})
	}
}

// otherClass is a painter of another installation.
func otherClass(t *testing.T, name, kind string) string {
	t.Helper()
	return with(t, with(t, painter(name, "color: red"), "kind: App}", "kind: "+kind+"}"), "spec:\n", "spec:\n  className: other\n")
}

// served is the status of a TemplateController that the installation of that class serves.
func served(class, accepted string, generation int) string {
	return fmt.Sprintf(`
status:
  className: %q
  conditions: [{type: Accepted, status: %q, reason: Any, message: "", observedGeneration: %d, lastTransitionTime: "2026-01-01T00:00:00Z"}]
`, class, accepted, generation)
}

// TestForgedStatusInTheNameOfAControllerThatDoesNotWriteItIsReplaced has somebody write a field of the status and the ready condition in the
// name of a TemplateController of another installation.
func TestForgedStatusInTheNameOfAControllerThatDoesNotWriteItIsReplaced(t *testing.T) {
	for why, manifest := range map[string]string{
		"it watches another kind": otherClass(t, "elsewhere", "Cluster") + served("other", "True", 1),
		"nobody serves it":        otherClass(t, "elsewhere", "App"),
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.apply(manifest)
			c.apply(app)
			forged := `{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": "ns", "name": "one"},
				"status": {"color": "forged", "conditions": [{"type": "XS", "status": "False", "reason": "Forged", "message": "forged", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}`
			if _, err := c.ApplyStatus(t.Context(), one, []byte(forged), v1.FieldManagerPrefix+"elsewhere", true); err != nil {
				t.Fatal(err)
			}
			c.apply(painter("xs", "color: red"))
			c.settle()
			wantStatus(t, "the field is that of who watches the kind", c, map[string]any{"color": "red"})
			if got, want := c.condition("apps", "one", "XS"), "True Ready: all children are ready: 0"; got != want {
				t.Errorf("ready condition %q, want %q", got, want)
			}
			if got, want := c.writable("xs"), "True StatusWritable: the ready condition can be written to parents"; got != want {
				t.Errorf("condition %q, want %q", got, want)
			}
			wantRequests(t, "afterwards", c.settle())
		})
	}
}

// TestAControllerThatIsNotKnownYetKeepsItsFields has the watch of TemplateControllers fail before it shows the one that wrote them.
func TestAControllerThatIsNotKnownYetKeepsItsFields(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: blue"))
	c.settle()
	c.fail("templatecontrollers", errors.New("no answer"))
	c.apply(app)
	if _, err := c.ApplyStatus(t.Context(), one, []byte(`{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": "ns", "name": "one"}, "status": {"color": "red"}}`), v1.FieldManagerPrefix+"elsewhere", true); err != nil {
		t.Fatal(err)
	}
	c.settle()
	wantStatus(t, "it may have been created meanwhile", c, map[string]any{"color": "red"})
	c.fail("templatecontrollers", nil)
	c.start()
	c.settle()
	wantStatus(t, "there is none of that name", c, map[string]any{"color": "blue"})
}

// TestAnEditOfAControllerOfAnotherInstallationFreesNoField has this installation learn of the edit first.
func TestAnEditOfAControllerOfAnotherInstallationFreesNoField(t *testing.T) {
	c := newCluster(t)
	c.apply(otherClass(t, "elsewhere", "App") + served("other", "True", 1))
	c.apply(app)
	if _, err := c.ApplyStatus(t.Context(), one, []byte(`{"apiVersion": "example.org/v1", "kind": "App", "metadata": {"namespace": "ns", "name": "one"}, "status": {"color": "red"}}`), v1.FieldManagerPrefix+"elsewhere", true); err != nil {
		t.Fatal(err)
	}
	c.apply(painter("xs", "color: blue"))
	c.settle()
	wantStatus(t, "who comes first keeps the field", c, map[string]any{"color": "red"})
	c.edit(controllerAt("elsewhere"), func(o *unstructured.Unstructured) {
		o.SetGeneration(2)
		_ = unstructured.SetNestedField(o.Object, "color: green", "spec", "status", "template")
	})
	c.settle()
	wantStatus(t, "the other installation is still to look at the edit", c, map[string]any{"color": "red"})
}

func TestTeardownLeavesFieldsOfOthers(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: red"))
	c.apply(app)
	c.settle()
	c.apply(with(t, ordered(t, ", timeout: 0s"), "      count:", "      color: blue\n      count:"))
	c.settle()
	c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "it waits", c.settle(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", "status apps one")
	wantStatus(t, "during teardown", c, map[string]any{"color": "red", "count": int64(1)})
	const taken = "False FieldOwned: .status.color is written by TemplateController xs, so this TemplateController does not write it to 1 parent: remove it from one of the two, or let them select different parents"
	if got := c.writable("apps"); got != taken {
		t.Errorf("condition %q, want %q", got, taken)
	}
	wantRequests(t, "once more", c.settle())
}

func TestWhoLetsGoOfAKindHasContestedParentsLookedAt(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: red"))
	c.apply(app)
	c.settle()
	c.apply(painter("ys", "color: blue"))
	c.settle()
	c.apply(with(t, painter("xs", "color: red"), "kind: App}", "kind: Cluster}"))
	take(c.parentsDue)
	if err := c.controllers.Sync(t.Context(), "xs"); err != nil {
		t.Error(err)
	}
	if got := take(c.parentsDue); !slices.Contains(got, "ys/one") {
		t.Errorf("%v are looked at, want ys/one too", got)
	}
}

func TestTheFirstFieldThatIsContestedIsTold(t *testing.T) {
	c := newCluster(t)
	c.apply(app)
	for _, one := range []string{"us", "vs"} {
		c.apply(painter(one, one+": red"))
		c.settle()
	}
	c.apply(painter("xs", "{us: blue, vs: blue}"))
	c.settle()
	wantStatus(t, "both stay", c, map[string]any{"us": "red", "vs": "red"})
	if got, want := c.writable("xs"), "False FieldOwned: .status.us is written by TemplateController us, so this TemplateController does not write it"; !strings.HasPrefix(got, want) {
		t.Errorf("condition %q, want %q", got, want)
	}
}

func TestWhoMayWriteAStatus(t *testing.T) {
	c := newCluster(t)
	c.apply(painter("xs", "color: red"))
	c.apply(otherClass(t, "served", "App") + served("other", "True", 1))
	c.apply(otherClass(t, "edited", "App") + served("other", "True", 0))
	c.apply(otherClass(t, "unserved", "App"))
	c.apply(otherClass(t, "rejected", "App") + served("other", "False", 1))
	c.apply(otherClass(t, "moved", "App") + served("yet another", "True", 0))
	c.apply(otherClass(t, "unserved-clusters", "Cluster"))
	c.apply(otherClass(t, "served-clusters", "Cluster") + served("other", "True", 1))
	c.apply(with(t, painter("clusters", "color: red"), "kind: App}", "kind: Cluster}"))
	c.apply(with(t, painter("back", "color: red"), "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: back}}}"))
	c.apply(painter("wrong", "{{"))
	c.apply(painter("reads", "color: red"))
	c.apply(app)
	c.run()
	unread, err := watch.NewCache(watch.Want{Role: watch.Parent}, func(watch.Event) {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	c.controllers.get("reads").Parents[""], c.controllers.get("clusters").Parents[""] = unread, unread
	c.controllers.mu.Lock()
	c.controllers.tracked["wrong"].current = nil // as where it reports nothing to parents
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

func TestWhoIsToldThatAStatusIsFree(t *testing.T) {
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
		got := take(c.parentsDue)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parent %q (-want +got):\n%s", parent, diff)
		}
	}
}

// wantsReady is a TemplateController that wants the condition Ready.
func wantsReady(t *testing.T, name string) string {
	t.Helper()
	return with(t, painter(name, name+": red"), "readyCondition: "+strings.ToUpper(name), "readyCondition: Ready")
}

func TestTwoTemplateControllersThatWantOneReadyConditionBothReportIt(t *testing.T) {
	const (
		fine = "True StatusWritable: the ready condition can be written to parents"
		text = "False ConditionOwned: TemplateController %s also writes the condition Ready of %s: the first to write it keeps it; " +
			"set another spec.status.readyCondition in one of the two, or let them select different parents"
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
			c.apply(app)
			for _, name := range order {
				c.apply(wantsReady(t, name))
				c.settle()
			}
			wantBoth(t, c, "1 parent")
			c.start()
			wantRequests(t, "after a restart", c.settle())
			wantBoth(t, c, "1 parent")

			c.apply(with(t, wantsReady(t, order[1]), "readyCondition: Ready", "readyCondition: Other"))
			c.settle()
			if x, y := c.condition("templatecontrollers", "us", "StatusWritable"), c.condition("templatecontrollers", "vs", "StatusWritable"); x != fine || y != fine {
				t.Errorf("once one has another condition: %q and %q, want %q", x, y, fine)
			}
		})
	}
	t.Run("each owns the condition of one parent", func(t *testing.T) {
		c := newCluster(t)
		c.apply(app)
		c.apply(wantsReady(t, "us"))
		c.settle()
		c.edit(controllerAt("us"), func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, true, "spec", "suspend")
		})
		c.applyAs(with(t, app, "name: one", "name: two"), "uid-two")
		c.apply(wantsReady(t, "vs"))
		c.settle()
		c.edit(controllerAt("us"), func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "suspend") })
		c.settle()
		wantBoth(t, c, "2 parents")
	})
	t.Run("the one that owns it is deleted", func(t *testing.T) {
		c := newCluster(t)
		c.apply(app)
		for _, name := range []string{"us", "vs"} {
			c.apply(wantsReady(t, name))
			c.settle()
		}
		c.gone(controllerAt("us"))
		c.settle()
		if got := c.condition("templatecontrollers", "vs", "StatusWritable"); got != fine {
			t.Errorf("condition %q, want %q", got, fine)
		}
		c.wantReady("True Ready: all children are ready: 0")
		wantRequests(t, "once more", c.settle())
	})
}
