package reconcile_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// How many may leave in a second, and at once: as package queue has it.
const departuresPerSecond, departureBurst = 20, 20

// front selects some parents.
const front = "kind: App, labelSelector: {matchLabels: {tier: front}}}"

// leaving has a cluster whose parents have just stopped matching, all at once.
func leaving(t *testing.T, parents int) *cluster {
	t.Helper()
	c := newCluster(t)
	c.apply(with(t, apps, "kind: App}", front, "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"))
	for i := range parents {
		c.apply(with(t, app, "name: one", fmt.Sprintf("name: p%d", i), "[a, b]", "[a]"))
	}
	c.run()
	c.deliver()
	c.run()
	c.apply(with(t, apps, "kind: App}", strings.Replace(front, "front", "none", 1), "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"))
	return c
}

func TestManyWhoLeaveAreAskedAboutInTurn(t *testing.T) {
	const parents = 200
	c := leaving(t, parents)
	before, passes, start := len(c.requests), 0, c.clock.Now()
	for c.parentsDue.release() != nil || c.controllers.queue.Len()+c.parentsDue.Len() > 0 || c.clock.Since(start) < time.Minute {
		c.runControllers()
		for c.parentsDue.Len() > 0 {
			key, _ := c.parentsDue.Get()
			c.reconciler.Again(key, c.reconciler.Reconcile(t.Context(), key))
			c.parentsDue.Done(key)
			passes++
		}
		c.clock.SetTime(c.clock.Now().Add(10 * time.Millisecond))
		if n, most := len(c.requests)-before, 2*(departureBurst+1+int(c.clock.Since(start).Seconds()*departuresPerSecond)); n > most {
			t.Fatalf("%d requests after %s, want at most %d", n, c.clock.Since(start), most)
		}
	}
	asked, deleted := 0, 0
	for _, request := range c.requests[before:] {
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
		t.Errorf("%d passes, want three for each parent at most", passes)
	}
}

func TestAnEditStopsThoseWhoLeave(t *testing.T) {
	for why, edit := range map[string]string{
		"suspend":                with(t, apps, "spec:\n", "spec:\n  suspend: true\n", "kind: App}", strings.Replace(front, "front", "none", 1), "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"),
		"the selector as it was": with(t, apps, "kind: App}", front, "{name: {{ . }}}", "{name: {{ $.metadata.name }}}"),
	} {
		t.Run(why, func(t *testing.T) {
			c := leaving(t, 2*departureBurst)
			c.run()
			before := len(c.requests)
			if want := 2 * (departureBurst + 1); before < want {
				t.Fatalf("%d requests, want %d at least: some have left", before, want)
			}
			c.apply(edit)
			for range 100 {
				c.run()
				c.clock.SetTime(c.clock.Now().Add(time.Second))
			}
			for _, request := range c.requests[before:] {
				if strings.HasPrefix(request, "delete") {
					t.Fatalf("after the edit: %s", request)
				}
			}
		})
	}
}
