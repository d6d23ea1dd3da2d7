package reconcile_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

const noteSince = "mark apps one" // records when the cleanup was first attempted

// askController is the request that reads the TemplateController before a parent is released.
const askController = "get templatecontrollers apps"

// heldBack returns a cluster with a parent whose children are deleted one after the other, and blocks the deletion of both.
func heldBack(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := settled(t, manifest)
	c.BlockDeletion()
	return c
}

func TestTimeoutReleasesParent(t *testing.T) {
	c := heldBack(t, finalized(t, ", timeout: 5m"))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "the first attempt", c.Run(), "delete-foreground configmaps a", reconciletest.ReadParent, noteSince, "status apps one")
	c.Deliver()
	want := c.Clock.Now().Add(time.Second).Format(time.RFC3339) + "/uid-one" // the Date header has no fractions of a second
	if got := c.Objects[one].GetAnnotations()[reconciletest.CleanupSince]; got != want {
		t.Errorf("the annotation is %q, want %q", got, want)
	}
	c.Run()
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "meanwhile", requests)
	if result.After != cleanupTimeout {
		t.Errorf("reconciles again after %v, want %v", result.After, cleanupTimeout)
	}
	c.Advance(cleanupTimeout)
	wantRequests(t, "just before", c.ReconcileOne(), reconciletest.ReadParent)
	c.Advance(time.Second)
	wantRequests(t, "afterwards", c.ReconcileOne(), reconciletest.ReadParent, askController, releaseParent)
	const event = "one Warning FinalizeTimeout: the cleanup took longer than spec.finalize.timeout: the finalizer was removed before the cleanup was done"
	if n := len(c.Events); n == 0 || c.Events[n-1] != event || !c.Released() {
		t.Errorf("Events %q, want %q", c.Events, event)
	}
	if n := reconciletest.Lengths(t, c.shared.Attempts, "since"); n > 0 {
		t.Errorf("%d attempts are remembered", n)
	}
}

func TestParentWithoutTimeoutWaitsIndefinitely(t *testing.T) {
	c := heldBack(t, finalized(t))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	wantRequests(t, "deletion", c.Run(), "delete-foreground configmaps a", "status apps one")
	c.Deliver()
	c.Advance(10_000 * time.Hour)
	wantRequests(t, "a year later", c.ReconcileOne())
}

// wantsReleaseAfter expects the parent to be released after the timeout, and not a second earlier.
func (c *cluster) wantsReleaseAfter(t *testing.T, timeout time.Duration) {
	t.Helper()
	c.Advance(timeout - time.Second)
	if c.ReconcileOne(); c.Released() {
		t.Error("the parent is released before")
	}
	c.Advance(2 * time.Second)
	if c.ReconcileOne(); !c.Released() {
		t.Error("the parent is not released afterwards")
	}
}

// Editing the annotation can delay the release of the parent, but never hasten it.
func TestTimeoutRestartsAfterAnnotationEdit(t *testing.T) {
	for why, annotations := range map[string]map[string]string{
		"it was removed":         nil,
		"it was forged":          {reconciletest.CleanupSince: "2020-01-01T00:00:00Z/uid-one"},
		"it is another parent's": {reconciletest.CleanupSince: "2026-01-01T00:00:01Z/uid-other"},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, finalized(t, ", timeout: 5m"))
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			c.Run()
			c.Deliver()
			c.Advance(cleanupTimeout - time.Second)
			c.KubectlEdit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(annotations) })
			c.Run()
			c.Deliver()
			c.wantsReleaseAfter(t, cleanupTimeout)
		})
	}
}

// Only times of the API server are compared, and only with each other.
func TestTimeoutUsesServerClock(t *testing.T) {
	for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 100_000 * time.Hour} {
		t.Run(fmt.Sprint("its clock is ahead by ", ahead), func(t *testing.T) {
			c := heldBack(t, finalized(t, ", timeout: 5m"))
			c.Ahead = ahead
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			c.Run()
			c.Deliver()
			c.wantsReleaseAfter(t, cleanupTimeout)
		})
	}
}

// Setting a clock during an attempt does not release the parent early.
func TestClockChangeDoesNotReleaseParentEarly(t *testing.T) {
	for why, row := range map[string]struct {
		set      func(c *cluster)
		released bool // after the timeout on the other clock
	}{
		"the server's, ahead":         {func(c *cluster) { c.Ahead += time.Hour }, true},
		"the server's, back":          {func(c *cluster) { c.Ahead -= time.Minute }, false},
		"the operator's, ahead":       {func(c *cluster) { c.Advance(time.Hour); c.Ahead -= time.Hour }, true},
		"the answers lose their Date": {func(c *cluster) { c.Dateless = true }, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, finalized(t, ", timeout: 5m"))
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			c.Run()
			c.Deliver()
			row.set(c)
			c.Advance(cleanupTimeout / 2)
			if c.ReconcileOne(); c.Released() {
				t.Error("the parent is released before")
			}
			c.Advance(cleanupTimeout/2 + time.Second)
			if c.ReconcileOne(); c.Released() != row.released {
				t.Errorf("released after the timeout: %v, want %v", c.Released(), row.released)
			}
		})
	}
}

// The API server may have a suspension, a newer spec or a newer parent that no watch has delivered.
func TestTimeoutReleasesNoParentOnStaleData(t *testing.T) {
	suspend := func(c *cluster) {
		newer := c.Objects[appsController].DeepCopy()
		newer.Object["spec"].(map[string]any)["suspend"] = true
		newer.SetGeneration(newer.GetGeneration() + 1)
		c.Store(appsController, newer)
	}
	for why, row := range map[string]struct {
		manifest func(t *testing.T) string
		begins   func(c *cluster)
		ends     func(c *cluster) // allows the release of the parent, or nil
	}{
		"the watch of TemplateControllers fails while finalize children run": {
			func(t *testing.T) string { return withBackup(t, "timeout: 5m") },
			func(c *cluster) { c.FailWatches("templatecontrollers", errors.New("no answer")) },
			func(c *cluster) { c.FailWatches("templatecontrollers", nil) },
		},
		"the watch of parents fails while finalize children run": {
			func(t *testing.T) string { return withBackup(t, "timeout: 5m") },
			func(c *cluster) { c.FailWatches("apps", errors.New("no answer")) },
			func(c *cluster) { c.FailWatches("apps", nil) },
		},
		"a watch of related objects fails while finalize children run": {
			seesGadgets,
			func(c *cluster) { c.FailWatches("gadgets", errors.New("no answer")) },
			func(c *cluster) { c.FailWatches("gadgets", nil) },
		},
		"a suspension was not delivered while finalize children run": {
			func(t *testing.T) string { return withBackup(t, "timeout: 5m") }, suspend, nil,
		},
		"a suspension was not delivered while children are deleted": {
			func(t *testing.T) string { return finalized(t, ", timeout: 5m") }, suspend, nil,
		},
		"the TemplateController cannot be read": {
			func(t *testing.T) string { return finalized(t, ", timeout: 5m") },
			func(c *cluster) { c.Refuse[askController] = errors.New("no answer") },
			func(c *cluster) { clear(c.Refuse) },
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, row.manifest(t))
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			c.Run()
			c.Deliver()
			row.begins(c)
			for range 3 {
				c.Advance(cleanupTimeout)
				if result, _ := c.Reconcile("apps", "one"); c.Released() || result.Retry == 0 && result.After == 0 {
					t.Fatalf("released: %v, result %+v", c.Released(), result)
				}
			}
			if row.ends == nil {
				return
			}
			row.ends(c)
			c.ReconcileOne() // starts a new attempt if the data was stale
			c.Advance(cleanupTimeout + time.Second)
			if c.ReconcileOne(); !c.Released() {
				t.Errorf("the parent is not released after the timeout: %s", c.Condition("apps", "one", "Ready"))
			}
		})
	}
}

// seesGadgets returns apps with one Job per name in the spec of a deleted parent, whose templates read related objects.
func seesGadgets(t *testing.T) string {
	t.Helper()
	return with(t, withBackup(t, "timeout: 5m"), "  watch:", "  related: [{name: gadgets, apiVersion: example.org/v1, kind: Gadget, select: '{name: seen}'}]\n  watch:",
		"      template: |\n        apiVersion: batch/v1", "      template: |\n        {{ range .spec.names }}\n        ---\n        apiVersion: batch/v1",
		"{name: backup}\n        spec: {suspend: {{ eq (len .children.maps) 0 }}}", "{name: {{ . }}}\n        spec: {suspend: {{ eq (len $.related.gadgets) 0 }}}\n        {{ end }}")
}

// A watch fails between the decision to delete an object of finalize.children and its deletion.
func TestTimeoutRestartsAfterWithheldDeletion(t *testing.T) {
	c := heldBack(t, seesGadgets(t))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Deliver()
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(o.Object, []string{"a", "c"}, "spec", "names")
	})
	c.During = func() {
		if c.Requests[len(c.Requests)-1] == "create jobs c" {
			c.FailWatches("gadgets", errors.New("no answer"))
		}
	}
	c.Advance(cleanupTimeout + time.Second)
	result, requests := c.Reconcile("apps", "one")
	if !slices.Contains(requests, "create jobs c") || slices.Contains(requests, "delete jobs b") || c.Released() || result.Retry == 0 {
		t.Fatalf("requests %q, released: %v, result %+v; want a deletion that is withheld", requests, c.Released(), result)
	}
	c.During = nil
	c.FailWatches("gadgets", nil)
	c.Deliver()
	if requests := c.ReconcileOne(); !slices.Contains(requests, "delete jobs b") || c.Released() {
		t.Errorf("requests %q, released: %v; want the deletion, with which the timeout begins", requests, c.Released())
	}
	c.ReconcileOne()
	c.wantsReleaseAfter(t, cleanupTimeout)
}

// A parent that cannot be released because the time is unknown reports this.
func TestUnconfirmableTimeoutIsReported(t *testing.T) {
	for why, row := range map[string]struct {
		set  func(c *cluster)
		want string
	}{
		"answers have no Date":       {func(c *cluster) { c.Dateless = true }, "spec.finalize.timeout has no effect: responses of the API server have no Date header; check for a proxy that removes it"},
		"the server does not answer": {func(c *cluster) { c.Refuse[reconciletest.ReadParent] = errors.New("no answer") }, "cannot read the time of the API server, which spec.finalize.timeout needs: "},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, finalized(t, ", timeout: 5m"))
			row.set(c)
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			c.Run()
			if got := c.Condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False Finalizing: being deleted: waiting for its children to be deleted: ConfigMap ns/a") || !strings.Contains(got, row.want) {
				t.Errorf("ready condition %q, want %q in it", got, row.want)
			}
		})
	}
}

// A rejection that does not depend on permissions counts as a response: the timeout applies.
func TestTimeoutCountsWhileDeletionIsRejected(t *testing.T) {
	c := heldBack(t, finalized(t, ", timeout: 5m"))
	c.Refuse["delete-foreground configmaps a"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Deliver()
	c.Advance(cleanupTimeout + time.Second)
	c.ReconcileOne()
	if !c.Released() {
		t.Errorf("the parent is not released: %s", c.Condition("apps", "one", "Ready"))
	}
}

// A failing template means that nothing is attempted: an Event and the condition report this, and the parent waits.
func TestTimeoutDoesNotCountWhileTemplateFails(t *testing.T) {
	c := settled(t, with(t, withBackup(t, "timeout: 5m"), "{{ eq (len .children.maps) 0 }}", `{{ fail "no" }}`))
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	for range 3 {
		c.Deliver()
		c.Advance(2 * cleanupTimeout)
		c.ReconcileOne()
	}
	if got := c.Condition("apps", "one", "Ready"); c.Released() || !strings.HasPrefix(got, "False TemplateFailed") {
		t.Errorf("released: %v, ready condition %q", c.Released(), got)
	}
	if slices.Contains(c.Requests, reconciletest.ReadParent) {
		t.Errorf("requests %q", c.Requests)
	}
}

// An attempt for an earlier parent of the same name does not count.
func TestCleanupAttemptsAreTrackedPerParent(t *testing.T) {
	c := heldBack(t, finalized(t, ", timeout: 5m"))
	key, before := queue.Key{Controller: "apps", Parent: configMapName("one")}, c.Clock.Now().Add(-time.Hour)
	c.shared.Attempts.Begin(key, queue.Attempt{Parent: "uid-other", Generation: c.controllers.get("apps").Generation, Noted: before, Seen: before})
	c.KubectlEdit(one, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{reconciletest.CleanupSince: before.Format(time.RFC3339) + "/uid-one"})
	})
	c.KubectlDelete(one, metav1.DeletePropagationBackground)
	c.Run()
	c.Deliver()
	if c.ReconcileOne(); c.Released() {
		t.Error("the parent is released at once")
	}
}
