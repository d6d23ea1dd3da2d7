package queue

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// pressed returns a breaker after the given number of reconciliations of one key that wrote children.
func pressed(reconciliations int) (*Breaker, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b := NewBreaker(clock)
	for range reconciliations {
		b.Wrote(pressedKey, pressedSpecs, Written{Children: true})
	}
	return b, clock
}

var (
	pressedKey   = keyOf("apps", "one")
	pressedSpecs = Generations{1, 1}
	otherSpecs   = Generations{2, 1}
	oneWrite     = Written{Children: true}
)

func TestBreakerTripsAfterBurst(t *testing.T) {
	b, clock := pressed(loopBurst)
	if b.Wait(pressedKey, pressedSpecs) != 0 || b.Tripped(pressedKey, pressedSpecs) {
		t.Errorf("%d reconciliations are too many", loopBurst)
	}
	if !b.Wrote(pressedKey, pressedSpecs, oneWrite) || b.Wait(pressedKey, pressedSpecs) != loopPause || !b.Tripped(pressedKey, pressedSpecs) {
		t.Errorf("one reconciliation more is not: wait %v", b.Wait(pressedKey, pressedSpecs))
	}
	clock.SetTime(clock.Now().Add(loopPause))
	if wait := b.Wait(pressedKey, pressedSpecs); wait != 0 {
		t.Errorf("wait %v after the pause, want none", wait)
	}
	clock.SetTime(clock.Now().Add(loopPause - 1))
	if !b.Tripped(pressedKey, pressedSpecs) {
		t.Error("it is forgotten before the next pause would be over")
	}
	clock.SetTime(clock.Now().Add(1))
	if b.Tripped(pressedKey, pressedSpecs) {
		t.Error("it is not forgotten when the next pause would be over")
	}
}

// TestRolloutMayWriteMore: a rollout of more children takes more reconciliations.
func TestRolloutMayWriteMore(t *testing.T) {
	b := NewBreaker(clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	write := Written{Children: true, Rolling: 100}
	for n := range loopBurst + 100*rolloutWrites {
		if b.Wrote(pressedKey, pressedSpecs, write) {
			t.Fatalf("reconciliation %d is one too many", n+1)
		}
	}
	if !b.Wrote(pressedKey, pressedSpecs, write) {
		t.Error("one reconciliation more is not one too many")
	}
}

func TestSpecChangeResetsBreaker(t *testing.T) {
	b, _ := pressed(loopBurst + 1)
	if b.Wait(pressedKey, otherSpecs) != 0 || b.Tripped(pressedKey, otherSpecs) || b.Rewrites(pressedKey, otherSpecs) != nil {
		t.Error("what reconciliations of an earlier spec wrote counts")
	}
	if b.Wrote(pressedKey, otherSpecs, oneWrite) || b.Rewrites(pressedKey, otherSpecs) != nil {
		t.Error("the first write for a new spec is one too many")
	}
}

func TestBreakerRefillsOverTime(t *testing.T) {
	b, clock := pressed(loopBurst)
	clock.SetTime(clock.Now().Add(loopRefill))
	if b.Wrote(pressedKey, pressedSpecs, oneWrite) {
		t.Error("one more reconciliation is too many after the time for one")
	}
	if !b.Wrote(pressedKey, pressedSpecs, oneWrite) {
		t.Error("two more reconciliations are not")
	}
}

func TestQuietParentsAreForgotten(t *testing.T) {
	b, clock := pressed(1)
	clock.SetTime(clock.Now().Add(loopBurst * loopRefill))
	if b.Wait(pressedKey, pressedSpecs); len(b.spent) != 1 {
		t.Error("it is forgotten too early")
	}
	clock.SetTime(clock.Now().Add(1))
	if b.Wait(pressedKey, pressedSpecs); len(b.spent) != 0 {
		t.Error("it is not forgotten")
	}
	b, _ = pressed(1)
	if b.Forget(pressedKey); len(b.spent) != 0 {
		t.Error("a parent that goes is not forgotten")
	}
}

func TestRewritesAreRecordedFromHalfBurst(t *testing.T) {
	b, _ := pressed(loopBurst / 2)
	if b.Rewrites(pressedKey, pressedSpecs) != nil {
		t.Error("there is no reason yet")
	}
	b.Wrote(pressedKey, pressedSpecs, oneWrite)
	first := b.Rewrites(pressedKey, pressedSpecs)
	b.Wrote(pressedKey, pressedSpecs, oneWrite)
	if first == nil || b.Rewrites(pressedKey, pressedSpecs) != first {
		t.Error("what has been noted is lost")
	}
}

func TestReconciliationWithoutWritesIsNotCounted(t *testing.T) {
	b, _ := pressed(0)
	if b.Wrote(pressedKey, pressedSpecs, Written{Before: 1, After: 2}) || len(b.spent) > 0 {
		t.Error("a reconciliation that writes nothing counts")
	}
}

func TestTrippedBreakerIsForgottenAfterQuietPeriod(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	b := NewBreaker(clock)
	key, of := keyOf("a", "1"), Generations{1, 1}
	for range loopBurst + 2 {
		b.Wrote(key, of, Written{Children: true})
	}
	if b.Wait(key, of) == 0 || !b.Tripped(key, of) {
		t.Error("the breaker has not tripped")
	}
	clock.SetTime(clock.Now().Add(loopPause + time.Second))
	if b.Wait(key, of) != 0 || len(b.spent) != 1 {
		t.Errorf("after the pause: wait %v, %d parents remembered; want 0 and 1", b.Wait(key, of), len(b.spent))
	}
	clock.SetTime(clock.Now().Add(loopBurst * loopRefill))
	if b.Wait(key, of) != 0 || len(b.spent) != 0 {
		t.Errorf("after a long time: %d parents remembered; want 0", len(b.spent))
	}
}

func TestStatusFollowingChildrenIsNotReportedAsLoop(t *testing.T) {
	b, _ := pressed(0)
	for n := range uint64(2 * loopBurst) {
		if b.Wrote(pressedKey, pressedSpecs, Written{Status: true, Before: n + 1, After: n + 1}) {
			t.Fatalf("reconciliation %d is one too many, though a child has changed each time", n)
		}
	}
	if s := b.spent[pressedKey]; s.writes != 0 {
		t.Errorf("%v reconciliations count, want none", s.writes)
	}
}

func TestStatusChangeWithoutChildChangeIsReportedAsLoop(t *testing.T) {
	b, _ := pressed(0)
	b.Wrote(pressedKey, pressedSpecs, Written{Children: true, After: 7})
	for range loopBurst - 1 {
		if b.Wrote(pressedKey, pressedSpecs, Written{Status: true, Before: 7, After: 7}) {
			t.Fatal("there are too many too early")
		}
	}
	if !b.Wrote(pressedKey, pressedSpecs, Written{Status: true, Before: 7, After: 7}) {
		t.Error("one reconciliation more is not too many, though no child changes")
	}
}

func TestUnknownKeyHasNoBreakerState(t *testing.T) {
	b, _ := pressed(1)
	other := keyOf("apps", "two")
	if !b.Knows(pressedKey) || b.Knows(other) {
		t.Error("it does not know who has been written to")
	}
	if b.Wait(other, pressedSpecs) != 0 || b.Tripped(other, pressedSpecs) || b.Rewrites(other, pressedSpecs) != nil {
		t.Error("something is known of a parent that nobody has written to")
	}
	b.Wrote(keyOf("jobs", "one"), pressedSpecs, oneWrite)
	if b.ForgetController("apps"); b.Knows(pressedKey) || !b.Knows(keyOf("jobs", "one")) {
		t.Error("another controller is forgotten than the one that is gone")
	}
}

func TestChildWritesAlwaysCount(t *testing.T) {
	b, _ := pressed(0)
	for n := range uint64(loopBurst) {
		if b.Wrote(pressedKey, pressedSpecs, Written{Children: true, Before: 2*n + 1, After: 2*n + 2}) {
			t.Fatalf("reconciliation %d is one too many", n)
		}
	}
	if !b.Wrote(pressedKey, pressedSpecs, Written{Children: true, Before: 1000, After: 1001}) {
		t.Error("one reconciliation more is not too many, as children have changed each time")
	}
}
