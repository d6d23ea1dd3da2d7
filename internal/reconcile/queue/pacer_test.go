package queue

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestDeletionSlotsAreAssignedPerParent(t *testing.T) {
	const gap = time.Second / DeparturesPerSecond
	clock := clocktesting.NewFakePassiveClock(time.Now())
	p := NewDeparturePacer(clock)
	waits := func(controller string, generation int64, n int) []time.Duration {
		var out []time.Duration
		for _, key := range manyKeys(controller, n) {
			if wait := p.Wait(key, generation); wait > 0 {
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
	expect("after the first", waits("a", 1, DepartureBurst+1))
	expect("who has left asks again", waits("a", 1, 3), gap, 2*gap, 3*gap)
	expect("who asks again has the same place", waits("a", 1, 3), gap, 2*gap, 3*gap)
	expect("another controller", waits("b", 1, 3))
	clock.SetTime(clock.Now().Add(gap))
	expect("the first may leave", waits("a", 1, 3), gap, 2*gap)
	expect("once", waits("a", 1, 1), 3*gap)
	p.End(keyOf("a", "0"))
	expect("one that has given up its place gets another one", waits("a", 1, 1), 4*gap)
	expect("an edit ends the line", waits("a", 2, 3), gap, 2*gap)
	clock.SetTime(clock.Now().Add(time.Hour))
	expect("after a while", waits("a", 3, DepartureBurst+2), gap)
	p.ForgetController("a")
	if len(p.lines) != 1 {
		t.Errorf("%d lines are left, want that of b", len(p.lines))
	}
}

// Many deleted parents take a place, and release it once their children are garbage collected.
func TestReleasedDeletionSlotsDoNotDelayOthers(t *testing.T) {
	const gap = time.Second / DeparturesPerSecond
	clock := clocktesting.NewFakePassiveClock(time.Now())
	p := NewDeparturePacer(clock)
	p.End(keyOf("a", "one that has no place, where nobody leaves"))
	keys := manyKeys("a", 10_000)
	for _, key := range keys {
		p.Wait(key, 1)
	}
	for _, key := range keys {
		p.End(key)
	}
	var got []time.Duration
	for _, key := range keys[:3] {
		got = append(got, p.Wait(key, 1))
		p.End(keyOf("a", "another parent, which does not leave"))
	}
	if diff := cmp.Diff([]time.Duration{0, gap, 2 * gap}, got); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}
