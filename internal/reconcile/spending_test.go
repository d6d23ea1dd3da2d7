package reconcile

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// pressed is a breaker over whose one key so many passes have written children.
func pressed(passes int) (*breaker, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	b := &breaker{clock: clock, spent: map[queue.Key]*spending{}}
	for range passes {
		b.wrote(pressedKey, pressedSpecs, written{children: true})
	}
	return b, clock
}

var (
	pressedKey   = keyOf("apps", "one")
	pressedSpecs = specs{1, 1}
	otherSpecs   = specs{2, 1}
	oneWrite     = written{children: true}
)

func TestOnePassTooMany(t *testing.T) {
	b, clock := pressed(loopBurst)
	if b.wait(pressedKey, pressedSpecs) != 0 || b.tripped(pressedKey, pressedSpecs) {
		t.Errorf("%d passes are too many", loopBurst)
	}
	if !b.wrote(pressedKey, pressedSpecs, oneWrite) || b.wait(pressedKey, pressedSpecs) != loopPause || !b.tripped(pressedKey, pressedSpecs) {
		t.Errorf("one pass more is not: wait %v", b.wait(pressedKey, pressedSpecs))
	}
	clock.SetTime(clock.Now().Add(loopPause))
	if wait := b.wait(pressedKey, pressedSpecs); wait != 0 {
		t.Errorf("wait %v after the pause, want none", wait)
	}
	clock.SetTime(clock.Now().Add(loopPause - 1))
	if !b.tripped(pressedKey, pressedSpecs) {
		t.Error("it is forgotten before the next pause would be over")
	}
	clock.SetTime(clock.Now().Add(1))
	if b.tripped(pressedKey, pressedSpecs) {
		t.Error("it is not forgotten when the next pause would be over")
	}
}

func TestAnotherSpecBeginsAnew(t *testing.T) {
	b, _ := pressed(loopBurst + 1)
	if b.wait(pressedKey, otherSpecs) != 0 || b.tripped(pressedKey, otherSpecs) || b.flaps(pressedKey, otherSpecs) != nil {
		t.Error("what passes over an earlier spec wrote counts")
	}
	if b.wrote(pressedKey, otherSpecs, oneWrite) || b.flaps(pressedKey, otherSpecs) != nil {
		t.Error("the first write for a new spec is one too many")
	}
}

func TestPassesAreAllowedAgainByAndBy(t *testing.T) {
	b, clock := pressed(loopBurst)
	clock.SetTime(clock.Now().Add(loopRefill))
	if b.wrote(pressedKey, pressedSpecs, oneWrite) {
		t.Error("one more pass is too many after the time for one")
	}
	if !b.wrote(pressedKey, pressedSpecs, oneWrite) {
		t.Error("two more passes are not")
	}
}

func TestQuietParentsAreForgotten(t *testing.T) {
	b, clock := pressed(1)
	clock.SetTime(clock.Now().Add(loopBurst * loopRefill))
	if b.wait(pressedKey, pressedSpecs); len(b.spent) != 1 {
		t.Error("it is forgotten too early")
	}
	clock.SetTime(clock.Now().Add(1))
	if b.wait(pressedKey, pressedSpecs); len(b.spent) != 0 {
		t.Error("it is not forgotten")
	}
	b, _ = pressed(1)
	if b.forget(pressedKey); len(b.spent) != 0 {
		t.Error("a parent that goes is not forgotten")
	}
}

func TestFlapsAreNotedFromHalfOfWhatIsAllowed(t *testing.T) {
	b, _ := pressed(loopBurst / 2)
	if b.flaps(pressedKey, pressedSpecs) != nil {
		t.Error("there is no reason yet")
	}
	b.wrote(pressedKey, pressedSpecs, oneWrite)
	first := b.flaps(pressedKey, pressedSpecs)
	b.wrote(pressedKey, pressedSpecs, oneWrite)
	if first == nil || b.flaps(pressedKey, pressedSpecs) != first {
		t.Error("what has been noted is lost")
	}
}

func TestQuietPassesCostNothing(t *testing.T) {
	b, _ := pressed(0)
	if b.wrote(pressedKey, pressedSpecs, written{before: 1, after: 2}) || len(b.spent) > 0 {
		t.Error("a pass that writes nothing counts")
	}
}

func TestWhatPassesWorkFromIsFoundOutCheaply(t *testing.T) {
	for generation, decoded := range map[int64]bool{3: false, 0: true} {
		parent := parse(t, app)
		parent.SetGeneration(generation)
		p := &pass{controller: &controller{}, parent: packed(t, parent)}
		if got := p.specs(); got.parent == 0 || generation > 0 && got.parent != generation {
			t.Errorf("generation %d: works from %d", generation, got.parent)
		}
		if got := p.decoded != nil; got != decoded {
			t.Errorf("generation %d: the parent is decoded: %v, want %v", generation, got, decoded)
		}
		if diff := cmp.Diff(p.parent.Content(), p.content()); diff != "" {
			t.Errorf("generation %d: the parent has changed (-want +got):\n%s", generation, diff)
		}
	}
}

func TestTheBreakerForgetsParentsThatHaveBeenQuiet(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	b := &breaker{clock: clock, spent: map[queue.Key]*spending{}}
	key, of := keyOf("a", "1"), specs{1, 1}
	for range loopBurst + 2 {
		b.wrote(key, of, written{children: true})
	}
	if b.wait(key, of) == 0 || !b.tripped(key, of) {
		t.Error("the breaker has not tripped")
	}
	clock.SetTime(clock.Now().Add(loopPause + time.Second))
	if b.wait(key, of) != 0 || len(b.spent) != 1 {
		t.Errorf("after the pause: wait %v, %d parents remembered; want 0 and 1", b.wait(key, of), len(b.spent))
	}
	clock.SetTime(clock.Now().Add(loopBurst * loopRefill))
	if b.wait(key, of) != 0 || len(b.spent) != 0 {
		t.Errorf("after a long time: %d parents remembered; want 0", len(b.spent))
	}
}
