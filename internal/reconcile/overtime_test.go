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

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const noteSince = "mark apps one" // since when the cleanup has been attempted

const askTime = "get apps one"

// askController reads the TemplateController before a parent is released.
const askController = "get templatecontrollers apps"

const since = v1.AnnotationCleanupSincePrefix + "apps"

// heldBack is a cluster with a parent whose children are deleted one after the other, and somebody keeps both from being deleted.
func heldBack(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := finalizes(t, manifest)
	for name, level := range map[string]string{"a": "1", "b": "0"} {
		c.edit(configMap(name), func(o *unstructured.Unstructured) {
			o.SetFinalizers([]string{"example.org/slow"})
			o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationOrder, level))
			c.seal(o)
		})
	}
	return c
}

// passes has time pass, by the clocks of the operator and of the server.
func (c *cluster) passes(d time.Duration) { c.clock.SetTime(c.clock.Now().Add(d)) }

// released reports whether the parent has been released.
func (c *cluster) released() bool { return c.Objects[one] == nil }

// once reconciles the parent, as for an event, and has the watches bring what was written.
func (c *cluster) once() []string {
	c.t.Helper()
	_, requests := c.pass("apps", "one")
	c.deliver()
	return requests
}

const minutes = 5 * time.Minute

func TestTimeoutReleasesAParent(t *testing.T) {
	c := heldBack(t, ordered(t, ", timeout: 5m"))
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "the first attempt", c.run(), "delete-foreground configmaps a", askTime, noteSince, "status apps one")
	c.deliver()
	want := c.clock.Now().Add(time.Second).Format(time.RFC3339) + "/uid-one" // a Date has no fractions
	if got := c.Objects[one].GetAnnotations()[since]; got != want {
		t.Errorf("the annotation is %q, want %q", got, want)
	}
	c.run()
	result, requests := c.pass("apps", "one")
	wantRequests(t, "meanwhile", requests)
	if result.After != minutes {
		t.Errorf("reconciles again after %v, want %v", result.After, minutes)
	}
	c.passes(minutes)
	wantRequests(t, "just before", c.once(), askTime)
	c.passes(time.Second)
	wantRequests(t, "afterwards", c.once(), askTime, askController, parentRelease)
	const event = "one Warning FinalizeTimeout: the cleanup took longer than spec.finalize.timeout: the object is released before its cleanup is done"
	if n := len(c.events); n == 0 || c.events[n-1] != event || !c.released() {
		t.Errorf("Events %q, want %q", c.events, event)
	}
	if n := lengths(t, c.shared.attempts, "since"); n > 0 {
		t.Errorf("%d attempts are remembered", n)
	}
}

func TestWithoutTimeoutAParentWaits(t *testing.T) {
	c := heldBack(t, ordered(t))
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "deletion", c.run(), "delete-foreground configmaps a", "status apps one")
	c.deliver()
	c.passes(10_000 * time.Hour)
	wantRequests(t, "a year later", c.once())
}

// wantsReleaseAfter expects the parent to be released once that time has passed, and not a second before.
func (c *cluster) wantsReleaseAfter(t *testing.T, timeout time.Duration) {
	t.Helper()
	c.passes(timeout - time.Second)
	if c.once(); c.released() {
		t.Error("the parent is released before")
	}
	c.passes(2 * time.Second)
	if c.once(); !c.released() {
		t.Error("the parent is not released afterwards")
	}
}

// Whoever may edit the parent delays its release by that, and never hastens it.
func TestTimeoutStartsAgainWhereItsNoteWasEdited(t *testing.T) {
	for why, annotations := range map[string]map[string]string{
		"it was removed":         nil,
		"it was forged":          {since: "2020-01-01T00:00:00Z/uid-one"},
		"it is another parent's": {since: "2026-01-01T00:00:01Z/uid-other"},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, ordered(t, ", timeout: 5m"))
			c.deletes(one, metav1.DeletePropagationBackground)
			c.run()
			c.deliver()
			c.passes(minutes - time.Second)
			c.edit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(annotations) })
			c.run()
			c.deliver()
			c.wantsReleaseAfter(t, minutes)
		})
	}
}

// Times of the server decide, and only among each other.
func TestTimeoutGoesByTheClockOfTheServer(t *testing.T) {
	for _, ahead := range []time.Duration{0, 10 * time.Minute, -10 * time.Minute, 100_000 * time.Hour} {
		t.Run(fmt.Sprint("its clock is ahead by ", ahead), func(t *testing.T) {
			c := heldBack(t, ordered(t, ", timeout: 5m"))
			c.ahead = ahead
			c.deletes(one, metav1.DeletePropagationBackground)
			c.run()
			c.deliver()
			c.wantsReleaseAfter(t, minutes)
		})
	}
}

// A clock that is set while an attempt is under way releases no parent before its time.
func TestClockThatIsSetReleasesNoParent(t *testing.T) {
	for why, row := range map[string]struct {
		set      func(c *cluster)
		released bool // after the timeout by the other clock
	}{
		"the server's, ahead":         {func(c *cluster) { c.ahead += time.Hour }, true},
		"the server's, back":          {func(c *cluster) { c.ahead -= time.Minute }, false},
		"the operator's, ahead":       {func(c *cluster) { c.passes(time.Hour); c.ahead -= time.Hour }, true},
		"the answers lose their Date": {func(c *cluster) { c.dateless = true }, false},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, ordered(t, ", timeout: 5m"))
			c.deletes(one, metav1.DeletePropagationBackground)
			c.run()
			c.deliver()
			row.set(c)
			c.passes(minutes / 2)
			if c.once(); c.released() {
				t.Error("the parent is released before")
			}
			c.passes(minutes/2 + time.Second)
			if c.once(); c.released() != row.released {
				t.Errorf("released after the timeout: %v, want %v", c.released(), row.released)
			}
		})
	}
}

// A suspension, a newer spec or a newer parent may exist on the server that no watch has delivered.
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
		ends     func(c *cluster) // after which the parent is released, or nil
	}{
		"the watch of TemplateControllers fails while finalize children run": {
			func(t *testing.T) string { return backedUp(t, "timeout: 5m") },
			func(c *cluster) { c.fail("templatecontrollers", errors.New("no answer")) },
			func(c *cluster) { c.fail("templatecontrollers", nil) },
		},
		"the watch of parents fails while finalize children run": {
			func(t *testing.T) string { return backedUp(t, "timeout: 5m") },
			func(c *cluster) { c.fail("apps", errors.New("no answer")) },
			func(c *cluster) { c.fail("apps", nil) },
		},
		"a watch of related objects fails while finalize children run": {
			seesGadgets,
			func(c *cluster) { c.fail("gadgets", errors.New("no answer")) },
			func(c *cluster) { c.fail("gadgets", nil) },
		},
		"a suspension was not delivered while finalize children run": {
			func(t *testing.T) string { return backedUp(t, "timeout: 5m") }, suspend, nil,
		},
		"a suspension was not delivered while children are deleted": {
			func(t *testing.T) string { return ordered(t, ", timeout: 5m") }, suspend, nil,
		},
		"the TemplateController cannot be read": {
			func(t *testing.T) string { return ordered(t, ", timeout: 5m") },
			func(c *cluster) { c.refuse[askController] = errors.New("no answer") },
			func(c *cluster) { clear(c.refuse) },
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, row.manifest(t))
			c.deletes(one, metav1.DeletePropagationBackground)
			c.run()
			c.deliver()
			row.begins(c)
			for range 3 {
				c.passes(minutes)
				if result, _ := c.pass("apps", "one"); c.released() || result.Retry == 0 && result.After == 0 {
					t.Fatalf("released: %v, result %+v", c.released(), result)
				}
			}
			if row.ends == nil {
				return
			}
			row.ends(c)
			c.once() // a new attempt begins, where the data was stale
			c.passes(minutes + time.Second)
			if c.once(); !c.released() {
				t.Errorf("the parent is not released after the timeout: %s", c.condition("apps", "one", "Ready"))
			}
		})
	}
}

// seesGadgets returns apps with one Job per name in the spec of a deleted parent, whose templates read related objects.
func seesGadgets(t *testing.T) string {
	t.Helper()
	return with(t, backedUp(t, "timeout: 5m"), "  watch:", "  related: [{name: gadgets, apiVersion: example.org/v1, kind: Gadget, select: '{name: seen}'}]\n  watch:",
		"      template: |\n        apiVersion: batch/v1", "      template: |\n        {{ range .spec.names }}\n        ---\n        apiVersion: batch/v1",
		"{name: backup}\n        spec: {suspend: {{ eq (len .children.maps) 0 }}}", "{name: {{ . }}}\n        spec: {suspend: {{ eq (len $.related.gadgets) 0 }}}\n        {{ end }}")
}

// A watch fails between the decision to delete an object of finalize.children and its deletion.
func TestTimeoutReleasesNoParentWhereADeletionWasWithheld(t *testing.T) {
	c := heldBack(t, seesGadgets(t))
	c.deletes(one, metav1.DeletePropagationBackground)
	c.run()
	c.deliver()
	c.edit(one, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(o.Object, []string{"a", "c"}, "spec", "names")
	})
	c.during = func() {
		if c.requests[len(c.requests)-1] == "create jobs c" {
			c.fail("gadgets", errors.New("no answer"))
		}
	}
	c.passes(minutes + time.Second)
	result, requests := c.pass("apps", "one")
	if !slices.Contains(requests, "create jobs c") || slices.Contains(requests, "delete jobs b") || c.released() || result.Retry == 0 {
		t.Fatalf("requests %q, released: %v, result %+v; want a deletion that is withheld", requests, c.released(), result)
	}
	c.during = nil
	c.fail("gadgets", nil)
	c.deliver()
	if requests := c.once(); !slices.Contains(requests, "delete jobs b") || c.released() {
		t.Errorf("requests %q, released: %v; want the deletion, with which the timeout begins", requests, c.released())
	}
	c.once()
	c.wantsReleaseAfter(t, minutes)
}

// A parent that cannot be released for want of a time says so.
func TestTimeoutThatCannotBeConfirmedIsReported(t *testing.T) {
	for why, row := range map[string]struct {
		set  func(c *cluster)
		want string
	}{
		"answers have no Date":       {func(c *cluster) { c.dateless = true }, "spec.finalize.timeout has no effect: responses of the API server have no Date header; check for a proxy that removes it"},
		"the server does not answer": {func(c *cluster) { c.refuse[askTime] = errors.New("no answer") }, "cannot read the time of the API server, which spec.finalize.timeout needs: "},
	} {
		t.Run(why, func(t *testing.T) {
			c := heldBack(t, ordered(t, ", timeout: 5m"))
			row.set(c)
			c.deletes(one, metav1.DeletePropagationBackground)
			c.run()
			if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, "False Finalizing: being deleted: waiting for its children to be deleted: ConfigMap ns/a") || !strings.Contains(got, row.want) {
				t.Errorf("ready condition %q, want %q in it", got, row.want)
			}
		})
	}
}

// A refusal that does not depend on permissions is an answer: the timeout is for it.
func TestTimeoutCountsWhileTheServerRefuses(t *testing.T) {
	c := heldBack(t, ordered(t, ", timeout: 5m"))
	c.refuse["delete-foreground configmaps a"] = answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
	c.deletes(one, metav1.DeletePropagationBackground)
	c.run()
	c.deliver()
	c.passes(minutes + time.Second)
	c.once()
	if !c.released() {
		t.Errorf("the parent is not released: %s", c.condition("apps", "one", "Ready"))
	}
}

// A template that fails attempts nothing: an Event and the condition say so, and the parent waits.
func TestTimeoutDoesNotCountWhileATemplateFails(t *testing.T) {
	c := finalizes(t, with(t, backedUp(t, "timeout: 5m"), "{{ eq (len .children.maps) 0 }}", `{{ fail "no" }}`))
	c.deletes(one, metav1.DeletePropagationBackground)
	c.run()
	for range 3 {
		c.deliver()
		c.passes(2 * minutes)
		c.once()
	}
	if got := c.condition("apps", "one", "Ready"); c.released() || !strings.HasPrefix(got, "False TemplateFailed") {
		t.Errorf("released: %v, ready condition %q", c.released(), got)
	}
	if slices.Contains(c.requests, askTime) {
		t.Errorf("requests %q", c.requests)
	}
}

// The attempt that was made for another parent of the name says nothing about this one.
func TestAttemptsAreOfOneParentAlone(t *testing.T) {
	c := heldBack(t, ordered(t, ", timeout: 5m"))
	key, before := queue.Key{Controller: "apps", Parent: configMapName("one")}, c.clock.Now().Add(-time.Hour)
	c.shared.attempts.Begin(key, queue.Attempt{Parent: "uid-other", Generation: c.controllers.get("apps").Generation, Noted: before, Seen: before})
	c.edit(one, func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{since: before.Format(time.RFC3339) + "/uid-one"})
	})
	c.deletes(one, metav1.DeletePropagationBackground)
	c.run()
	c.deliver()
	if c.once(); c.released() {
		t.Error("the parent is released at once")
	}
}
