package reconcile_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// gadgets returns apps with a Gadget for each of spec.names, and this strategy.
func gadgets(t *testing.T, strategy string) string {
	t.Helper()
	return with(t, apps, "apiVersion: v1\n      kind: ConfigMap", "apiVersion: example.org/v1\n      kind: Gadget", "data: {text: {{ $.spec.text }}}", "spec: {text: {{ $.spec.text }}}",
		"  - name: maps\n", "  - name: maps\n    updateStrategy: "+strategy+"\n", "len .children.maps", "1")
}

// four are the children of most Apps in these tests.
var four = withChildren("a", "b", "c", "d")

func gadget(name string) request.Location {
	at := configMap(name)
	at.Resource = reconciletest.Kinds[schema.GroupKind{Group: "example.org", Kind: "Gadget"}].Resource
	return at
}

// reportGadget sets the status of a Gadget like its controller: its work is done, or it has failed. The status has the observedGeneration.
func (c *cluster) reportGadget(name, condition string) {
	c.T.Helper()
	o := c.Objects[gadget(name)].DeepCopy()
	conditions := []any{map[string]any{"type": condition, "status": "True", "reason": "Told"}}
	o.Object["status"] = map[string]any{"observedGeneration": o.GetGeneration(), "conditions": conditions}
	c.Store(gadget(name), o)
	c.Deliver()
}

// rolledOut returns a cluster in which all Gadgets of the App are ready.
func rolledOut(t *testing.T, strategy string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(gadgets(t, strategy))
	c.KubectlApply(newApp(four))
	c.Run()
	for _, name := range []string{"a", "b", "c", "d"} {
		c.reportGadget(name, "Ready")
	}
	c.Run()
	if got, want := c.Condition("apps", "one", "Ready"), "True Ready: all children are ready: 4"; got != want {
		t.Fatalf("ready condition %q, want %q", got, want)
	}
	return c
}

// wantStill fails unless the App has this ready condition, and another reconciliation sends no requests.
func (c *cluster) wantStill(want string) {
	c.T.Helper()
	c.WantReady(want)
	_, again := c.Reconcile("apps", "one")
	if len(again) > 0 {
		c.T.Errorf("another reconciliation makes the requests %q", again)
	}
}

func TestRolloutWaitsForEachObject(t *testing.T) {
	c := rolledOut(t, "{rollingUpdate: {}}")
	c.KubectlApply(newApp(four, withText("bye")))
	for i, name := range []string{"a", "b", "c"} {
		wantRequests(t, name, c.Run(), "update gadgets "+name, "status apps one")
		c.wantStill("False Progressing: children[maps]: rollout: " + string(rune('1'+i)) + " of 4 are up to date, waiting for Gadget ns/" + name + ": its controller has not observed its current spec yet; 3 of 4 children are ready")
		c.reportGadget(name, "Ready")
	}
	wantRequests(t, "the last", c.Run(), "update gadgets d", "status apps one")
	c.wantStill("False Progressing: 3 of 4 children are ready: Gadget ns/d: its controller has not observed its current spec yet")
	c.reportGadget("d", "Ready")
	wantRequests(t, "all done", c.Run(), "status apps one")
	c.wantStill("True Ready: all children are ready: 4")
}

func TestRolloutRecreatesObjects(t *testing.T) {
	c := rolledOut(t, `{type: Recreate, rollingUpdate: {maxUnavailable: "50%"}}`)
	c.KubectlApply(newApp(four, withText("bye")))
	wantRequests(t, "the first half goes", c.Run(), "delete-foreground gadgets a", "delete-foreground gadgets b", "status apps one")
	c.wantStill("False Progressing: children[maps]: rollout: 0 of 4 are up to date, waiting for Gadget ns/a: being deleted; Gadget ns/b: being deleted; 2 of 4 children are ready")
	c.Remove(gadget("b"))
	c.Deliver()
	wantRequests(t, "one is gone", c.Run(), "create gadgets b", "status apps one")
	c.wantStill("False Progressing: children[maps]: rollout: 1 of 4 are up to date, waiting for Gadget ns/a: being deleted; Gadget ns/b: just changed; 3 of 4 children are ready")
	c.reportGadget("b", "Ready")
	wantRequests(t, "its successor is ready", c.Run(), "delete-foreground gadgets c", "status apps one")
	c.CollectGarbage()
	c.Deliver()
	wantRequests(t, "two are gone", c.Run(), "create gadgets a", "create gadgets c", "status apps one")
	c.reportGadget("a", "Ready")
	wantRequests(t, "one of the successors is ready", c.Run(), "delete-foreground gadgets d", "status apps one")
	c.CollectGarbage()
	c.Deliver()
	wantRequests(t, "the last one is gone", c.Run(), "create gadgets d", "status apps one")
	c.reportGadget("c", "Ready")
	c.reportGadget("d", "Ready")
	c.Run()
	c.wantStill("True Ready: all children are ready: 4")
}

func TestBrokenTemplateHaltsRolloutUntilFixed(t *testing.T) {
	for strategy, healing := range map[string][]string{
		"{type: Apply, rollingUpdate: {maxUnavailable: 1}}":    {"update gadgets a", "status apps one"},
		"{type: Recreate, rollingUpdate: {maxUnavailable: 1}}": {"delete-foreground gadgets a", "status apps one", "create gadgets a", "status apps one"},
	} {
		t.Run(strategy, func(t *testing.T) {
			c := rolledOut(t, strategy)
			again := func() []string {
				requests := c.Run()
				if c.CollectGarbage() {
					c.Deliver()
					requests = append(requests, c.Run()...)
				}
				return requests
			}
			c.KubectlApply(newApp(four, withText("broken")))
			wantRequests(t, "broken", again(), healing...)
			c.reportGadget("a", "Stalled")
			wantRequests(t, "it has failed", again(), "status apps one")
			c.wantStill("False ChildFailing: 1 of 4 children have failed: Gadget ns/a: failed (Told); children[maps]: the rollout is halted: 1 of 4 are up to date")
			c.KubectlApply(newApp(four, withText("mended")))
			wantRequests(t, "mended", again(), healing...)
			c.reportGadget("a", "Ready")
			if got := again(); got[0] != strings.Replace(healing[0], " a", " b", 1) {
				t.Errorf("the next request is %s", got[0])
			}
			if diff := cmp.Diff(1, len(c.warnings())); diff != "" {
				t.Errorf("Events %q: want that of the failure alone", c.warnings())
			}
		})
	}
}

// TestRolloutResumesAfterRecovery also checks that a rollout continues while more objects may become unavailable.
func TestRolloutResumesAfterRecovery(t *testing.T) {
	c := rolledOut(t, "{rollingUpdate: {maxUnavailable: 2}}")
	c.reportGadget("d", "Stalled")
	c.KubectlApply(newApp(four, withText("bye")))
	wantRequests(t, "the one that has failed is mended at no cost", c.Run(), "update gadgets a", "update gadgets d", "status apps one")
	c.reportGadget("a", "Stalled")
	c.Run()
	c.wantStill("False ChildFailing: 1 of 4 children have failed: Gadget ns/a: failed (Told)")
	c.reportGadget("d", "Ready")
	wantRequests(t, "one more may be unavailable", c.Run(), "update gadgets b")
	c.reportGadget("a", "Ready")
	wantRequests(t, "another one", c.Run(), "update gadgets c", "status apps one")
	for _, name := range []string{"b", "c"} {
		c.reportGadget(name, "Ready")
	}
	c.Run()
	c.wantStill("True Ready: all children are ready: 4")
}

// TestImmediatelyReadyRolloutTakesOneReconciliation: no event would trigger another one.
func TestImmediatelyReadyRolloutTakesOneReconciliation(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(withTemplate(t, apps, "updateStrategy: {rollingUpdate: {maxUnavailable: 1}}"))
	c.KubectlApply(newApp(four))
	c.Run()
	c.KubectlApply(newApp(withChildren("a", "b", "c", "d", "e"), withText("bye")))
	wantRequests(t, "another text", c.Run(), "create configmaps e", "update configmaps a", "update configmaps b", "update configmaps c", "update configmaps d", "status apps one")
	c.wantStill("True Ready: all children are ready: 5")
	c.Refuse["update configmaps b"] = refusal(422, "Invalid", "no")
	c.KubectlApply(newApp(four, withText("hi")))
	if got := c.Run(); !slices.Contains(got, "update configmaps b") || slices.Contains(got, "update configmaps c") {
		t.Errorf("requests %q: want the rollout to end where the server refuses", got)
	}
}

// TestRolloutRecreatesImmediatelyReadyObjects checks that the rollout continues after each recreated object.
func TestRolloutRecreatesImmediatelyReadyObjects(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, withTemplate(t, apps, "updateStrategy: {type: Recreate, rollingUpdate: {}}"), "len .children.maps", "1"))
	c.KubectlApply(app)
	c.Run()
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "the first goes", c.Run(), "delete-foreground configmaps a", "status apps one")
	c.CollectGarbage()
	c.Deliver()
	wantRequests(t, "it is gone", c.Run(), "create configmaps a", "status apps one", "delete-foreground configmaps b", "status apps one")
	c.CollectGarbage()
	c.Deliver()
	wantRequests(t, "so is the other", c.Run(), "create configmaps b", "status apps one")
	c.wantStill("True Ready: all children are ready: 2")
}

// TestRolloutWaitsWithoutObservedGeneration checks that a ready status is only trusted some time after the change.
func TestRolloutWaitsWithoutObservedGeneration(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(gadgets(t, "{rollingUpdate: {maxUnavailable: 1}}"))
	c.KubectlApply(app)
	c.Settle()
	for _, name := range []string{"a", "b"} {
		o := c.Objects[gadget(name)].DeepCopy()
		o.Object["status"] = map[string]any{"phase": "Done"}
		c.Store(gadget(name), o)
	}
	c.Deliver()
	c.Run()
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "another text", c.Run(), "update gadgets a", "status apps one")
	c.wantStill("False Progressing: children[maps]: rollout: 1 of 2 are up to date, waiting for Gadget ns/a: just changed; 2 of 2 children are ready")
	begun := c.Clock.Now()
	wantRequests(t, "later", c.Settle(), "update gadgets b", "status apps one")
	if took := c.Clock.Since(begun); took < 4*time.Second {
		t.Errorf("it went on after %v", took)
	}
	c.wantStill("True Ready: all children are ready: 2")
	c.Clock.SetTime(c.Clock.Now().Add(time.Hour))
	c.KubectlApply(newApp(withText("again")))
	wantRequests(t, "a long time later", c.Run(), "update gadgets a", "status apps one")
}

func TestReadyWhenBlocksRollout(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(with(t, gadgets(t, "{rollingUpdate: {}}"), "    updateStrategy", "    readyWhen: eq .object.spec.text (.object.status.text | default \"\")\n    updateStrategy"))
	c.KubectlApply(app)
	c.Run()
	done := func(name string) {
		o := c.Objects[gadget(name)].DeepCopy()
		o.Object["status"] = map[string]any{"text": o.Object["spec"].(map[string]any)["text"], "observedGeneration": o.GetGeneration()}
		c.Store(gadget(name), o)
		c.Deliver()
	}
	done("a")
	done("b")
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "another text", c.Run(), "update gadgets a", "status apps one")
	c.wantStill("False Progressing: children[maps]: rollout: 1 of 2 are up to date, waiting for Gadget ns/a: readyWhen is not true yet: its controller has not observed its current spec yet; 1 of 2 children are ready")
	done("a")
	wantRequests(t, "it is true", c.Run(), "update gadgets b", "status apps one")
}

// TestLongRolloutIsNotReportedAsLoop has two reconciliations with writes for each object.
func TestLongRolloutIsNotReportedAsLoop(t *testing.T) {
	var names []string
	for i := range 50 {
		names = append(names, string(rune('a'+i/10))+string(rune('0'+i%10)))
	}
	many := withChildren(names...)
	c := newCluster(t)
	c.KubectlApply(gadgets(t, "{type: Recreate, rollingUpdate: {maxUnavailable: 1}}"))
	c.KubectlApply(newApp(many))
	c.Run()
	for _, name := range names {
		c.reportGadget(name, "Ready")
	}
	c.KubectlApply(newApp(many, withText("bye")))
	for _, name := range names {
		c.Run()
		c.CollectGarbage()
		c.Deliver()
		c.Run()
		c.reportGadget(name, "Ready")
	}
	c.Run()
	c.wantStill("True Ready: all children are ready: 50")
}

// TestRolloutRespectsDependencies: a blocked child template does not start a rollout, and dependents wait during a rollout.
func TestRolloutRespectsDependencies(t *testing.T) {
	const two = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: late
    dependsOn: [early]
    updateStrategy: {rollingUpdate: {}}
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
  - name: early
    updateStrategy: {rollingUpdate: {}}
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: example.org/v1
      kind: Gadget
      metadata: {name: {{ . }}}
      spec: {text: {{ $.spec.text }}}
      {{ end }}
`
	c := newCluster(t)
	c.KubectlApply(two)
	c.KubectlApply(app)
	c.Run()
	c.reportGadget("a", "Ready")
	c.reportGadget("b", "Ready")
	c.Run()
	c.KubectlApply(newApp(withText("bye")))
	wantRequests(t, "the first of the early ones", c.Run(), "update gadgets a", "status apps one")
	c.wantStill("False Waiting: children[late] waits for children[early]: Gadget ns/a: its controller has not observed its current spec yet; Gadget ns/b: not updated yet")
	c.reportGadget("a", "Ready")
	wantRequests(t, "the second", c.Run(), "update gadgets b", "status apps one")
	c.reportGadget("b", "Ready")
	wantRequests(t, "the late ones", c.Run(), "update configmaps a", "update configmaps b", "status apps one")
	c.wantStill("True Ready: all children are ready: 4")
}

// TestRolloutHaltsOnForeignObject has one of four objects permanently missing, so that no other object may become unavailable.
func TestRolloutHaltsOnForeignObject(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: d}}`)
	c.KubectlApply(withTemplate(t, apps, "updateStrategy: {rollingUpdate: {}}"))
	c.KubectlApply(newApp(four))
	c.Run()
	c.KubectlApply(newApp(four, withText("bye")))
	wantRequests(t, "the text changes", withoutStatus(c.Run()), "create configmaps d", "get configmaps d")
	c.WantReady("False ChildConflict: ConfigMap ns/d already exists and has no owner: templater does not adopt it; delete it, or choose another name in the template")
	c.Remove(configMap("d"))
	_, requests := c.Reconcile("apps", "one") // it is retried periodically
	wantRequests(t, "the stranger's object is gone", withoutStatus(append(requests, c.Run()...)), "create configmaps d", "update configmaps a", "update configmaps b", "update configmaps c")
}
