package reconcile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestEachParentThatLeavesHasAPlaceOfItsOwn(t *testing.T) {
	const gap = time.Second / departuresPerSecond
	clock := clocktesting.NewFakePassiveClock(time.Now())
	p := newPacer(clock)
	waits := func(controller string, generation int64, n int) []time.Duration {
		var out []time.Duration
		for _, key := range manyKeys(controller, n) {
			if wait := p.wait(key, generation); wait > 0 {
				out = append(out, wait)
			}
		}
		return out
	}
	expect := func(what string, got []time.Duration, want ...time.Duration) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	expect("after the first", waits("a", 1, departureBurst+1))
	expect("who has left asks again", waits("a", 1, 3), gap, 2*gap, 3*gap)
	expect("who asks again has the same place", waits("a", 1, 3), gap, 2*gap, 3*gap)
	expect("another controller", waits("b", 1, 3))
	clock.SetTime(clock.Now().Add(gap))
	expect("the first may leave", waits("a", 1, 3), gap, 2*gap)
	expect("once", waits("a", 1, 1), 3*gap)
	p.end(keyOf("a", "0"))
	expect("one that has given up its place gets another one", waits("a", 1, 1), 4*gap)
	expect("an edit ends the line", waits("a", 2, 3), gap, 2*gap)
	clock.SetTime(clock.Now().Add(time.Hour))
	expect("after a while", waits("a", 3, departureBurst+2), gap)
	p.forgetController("a")
	if len(p.lines) != 1 {
		t.Errorf("%d lines are left, want that of b", len(p.lines))
	}
}

// Of parents that are deleted many take a place, and give it up once their children are collected.
func TestPlacesThatAreGivenUpKeepNobodyWaiting(t *testing.T) {
	const gap = time.Second / departuresPerSecond
	clock := clocktesting.NewFakePassiveClock(time.Now())
	p := newPacer(clock)
	keys := manyKeys("a", 10_000)
	for _, key := range keys {
		p.wait(key, 1)
	}
	for _, key := range keys {
		p.end(key)
	}
	var got []time.Duration
	for _, key := range keys[:3] {
		got = append(got, p.wait(key, 1))
		p.end(keyOf("a", "another parent, which does not leave"))
	}
	if diff := cmp.Diff([]time.Duration{0, gap, 2 * gap}, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

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
	for c.parentsDue.release() != nil || c.controllers.queue.Len()+c.reconciler.queue.Len() > 0 || c.clock.Since(start) < time.Minute {
		c.runControllers()
		for c.reconciler.queue.Len() > 0 {
			key, _ := c.reconciler.queue.Get()
			c.reconciler.again(key, c.reconciler.Reconcile(t.Context(), key))
			c.reconciler.queue.Done(key)
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
