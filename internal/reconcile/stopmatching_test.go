package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

// leaving returns a cluster whose parents have just stopped matching, all at the same time.
func leaving(t *testing.T, parents int) *cluster {
	t.Helper()
	c := newCluster(t)
	c.KubectlApply(with(t, frontOnly(t, apps), "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"))
	for i := range parents {
		c.KubectlApply(with(t, app, "name: one", fmt.Sprintf("name: p%d", i), "[a, b]", "[a]"))
	}
	c.Run()
	c.Deliver()
	c.Run()
	c.KubectlApply(with(t, apps, "kind: App}", strings.Replace(reconciletest.WatchFront, "front", "none", 1), "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"))
	return c
}

func TestParentsThatStopMatchingAreRateLimited(t *testing.T) {
	const parents = 200
	c := leaving(t, parents)
	before, passes, start := len(c.Requests), 0, c.Clock.Now()
	for c.ParentQueue.Release() != nil || c.Queued() > 0 || c.Clock.Since(start) < time.Minute {
		c.RunControllers()
		for c.ParentQueue.Len() > 0 {
			key, _ := c.ParentQueue.Get()
			c.Reconciler.Requeue(key, c.Reconciler.Reconcile(t.Context(), key))
			c.ParentQueue.Done(key)
			passes++
		}
		c.Clock.SetTime(c.Clock.Now().Add(10 * time.Millisecond))
		if n, most := len(c.Requests)-before, 2*(queue.DepartureBurst+1+int(c.Clock.Since(start).Seconds()*queue.DeparturesPerSecond)); n > most {
			t.Fatalf("%d requests after %s, want at most %d", n, c.Clock.Since(start), most)
		}
	}
	asked, deleted := 0, 0
	for _, request := range c.Requests[before:] {
		switch {
		case strings.HasPrefix(request, "get apps"):
			asked++
		case strings.HasPrefix(request, "delete configmaps"):
			deleted++
		}
	}
	if asked != parents || deleted != parents {
		t.Errorf("%d were asked about and %d children deleted, want %d of both", asked, deleted, parents)
	}
	if passes > 3*parents {
		t.Errorf("%d reconciliations, want three for each parent at most", passes)
	}
}

func TestSpecEditStopsPendingDeletions(t *testing.T) {
	for why, edit := range map[string]string{
		"suspend":                with(t, withSpec(t, apps, "suspend: true"), "kind: App}", strings.Replace(reconciletest.WatchFront, "front", "none", 1), "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"),
		"the selector as it was": with(t, frontOnly(t, apps), "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"),
	} {
		t.Run(why, func(t *testing.T) {
			c := leaving(t, 2*queue.DepartureBurst)
			c.Run()
			before := len(c.Requests)
			if want := 2 * (queue.DepartureBurst + 1); before < want {
				t.Fatalf("%d requests, want %d at least: some have left", before, want)
			}
			c.KubectlApply(edit)
			for range 100 {
				c.Run()
				c.Clock.SetTime(c.Clock.Now().Add(time.Second))
			}
			for _, request := range c.Requests[before:] {
				if strings.HasPrefix(request, "delete") {
					t.Fatalf("after the edit: %s", request)
				}
			}
		})
	}
}

func TestParentStillMatchingKeepsChildren(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(frontOnly(t, apps))
	c.KubectlApply(app)
	c.Run()
	c.Deliver()
	gone := c.Find("apps", "one").DeepCopy()
	gone.SetResourceVersion("1000") // the watch reports it as deleted, and will report it again
	for want, cache := range c.Caches {
		if want.Role == watch.Parent {
			if err := cache.Delete(packed(t, gone)); err != nil {
				t.Fatal(err)
			}
		}
	}
	result, requests := c.Reconcile("apps", "one")
	wantRequests(t, "a parent that no watch shows", requests, "get apps one")
	if result.Retry != problem.RetrySoon {
		t.Errorf("retry %v, want %v", result.Retry, problem.RetrySoon)
	}
}
