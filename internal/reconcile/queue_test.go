package reconcile

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

func keyOf(controller, parent string) Key {
	return Key{controller, types.NamespacedName{Namespace: "ns", Name: parent}}
}

// take empties the queue and returns what was in it, "CONTROLLER/PARENT".
func take(queue Queue) []string {
	out := []string{}
	for queue.Len() > 0 {
		key, _ := queue.Get()
		out = append(out, key.Controller+"/"+key.Parent.Name)
		queue.Done(key)
	}
	return out
}

func TestTheQueueServesControllersInTurn(t *testing.T) {
	queue, _ := newQueue()
	defer queue.ShutDown()
	for _, key := range []Key{keyOf("a", "1"), keyOf("a", "2"), keyOf("a", "3"), keyOf("a", "1"), keyOf("b", "1"), keyOf("c", "1"), keyOf("b", "2")} {
		queue.Add(key)
	}
	want := []string{"a/1", "b/1", "c/1", "a/2", "b/2", "a/3"}
	if diff := cmp.Diff(want, take(queue)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	queue.Add(keyOf("a", "1"))
	if diff := cmp.Diff([]string{"a/1"}, take(queue)); diff != "" {
		t.Errorf("after it was empty (-want +got):\n%s", diff)
	}
}

func manyKeys(controller string, n int) []Key {
	keys := make([]Key, n)
	for i := range keys {
		keys[i] = keyOf(controller, fmt.Sprint(i))
	}
	return keys
}

// work has the key that is next worked on, and returns it.
func (b *backlog) work() Key {
	key, _ := b.queue.Get()
	out := b.begin(key)
	b.queue.Done(key)
	b.done(key, out, true)
	return key
}

func TestTheBacklogKeepsAllWorkersBusy(t *testing.T) {
	queue, _ := newQueue()
	defer queue.ShutDown()
	b := newBacklog(queue, clocktesting.NewFakePassiveClock(time.Now()), 4)
	b.add("a", manyKeys("a", 100))
	b.add("b", manyKeys("b", 3))
	done := map[string]int{}
	for n := 0; n < 103; n++ {
		if got := queue.Len(); got != min(8, 103-n) {
			t.Fatalf("%d keys are in the queue after %d passes, want 8 or what is left", got, n)
		}
		done[b.work().Controller]++
		if n == 20 && done["b"] != 3 {
			t.Errorf("%d passes over b after 20: it waits for a", done["b"])
		}
	}
	if queue.Len() > 0 || len(b.waiting)+len(b.order)+len(b.out)+len(b.outOf) > 0 {
		t.Errorf("something is left over: %+v", b)
	}
}

func TestTheBacklogIsReplacedWhenTheControllerChangesAgain(t *testing.T) {
	queue, _ := newQueue()
	defer queue.ShutDown()
	b := newBacklog(queue, clocktesting.NewFakePassiveClock(time.Now()), 1)
	b.add("a", manyKeys("a", 5))
	b.add("a", []Key{keyOf("a", "x")})
	b.add("a", nil)
	var got []string
	for queue.Len() > 0 {
		got = append(got, b.work().Parent.Name)
	}
	if diff := cmp.Diff([]string{"0", "1", "x"}, got); diff != "" {
		t.Errorf("passes (-want +got):\n%s", diff)
	}
}

func TestTheBacklogMakesRoomForOthers(t *testing.T) {
	for why, row := range map[string]struct {
		writer string
		wrote  bool
		fresh  bool
		later  time.Duration
		want   int // keys of "a" in the queue in the end
	}{
		"another controller wrote":              {"b", true, false, 0, narrow},
		"it was a while ago":                    {"b", true, false, courtesy, 8},
		"it had nothing to write":               {"b", false, false, 0, 8},
		"the controller itself follows changes": {"a", true, false, 0, 8},
		"another controller is about to write":  {"b", false, true, 0, narrow},
	} {
		t.Run(why, func(t *testing.T) {
			queue, _ := newQueue()
			defer queue.ShutDown()
			clock := clocktesting.NewFakePassiveClock(time.Now())
			b := newBacklog(queue, clock, 4)
			b.add("a", manyKeys("a", 100))
			if row.fresh {
				b.expect(row.writer)
			}
			b.done(keyOf(row.writer, "single"), false, row.wrote)
			clock.SetTime(clock.Now().Add(row.later))
			for range 50 {
				b.work()
			}
			if got := queue.Len(); got != row.want {
				t.Errorf("%d keys are out, want %d", got, row.want)
			}
		})
	}
}

func TestTheBacklogServesAllWhileItMakesRoom(t *testing.T) {
	queue, _ := newQueue()
	defer queue.ShutDown()
	b := newBacklog(queue, clocktesting.NewFakePassiveClock(time.Now()), 16)
	b.add("a", manyKeys("a", 100))
	b.done(keyOf("a", "a Pod of a's own"), false, true) // so it holds back others, and not itself
	b.add("b", manyKeys("b", 5))
	b.add("c", manyKeys("c", 5))
	done := map[string]int{}
	for range 45 {
		done[b.work().Controller]++
	}
	if done["b"] != 5 || done["c"] != 5 {
		t.Errorf("after 45 passes a had %d, b %d and c %d; b and c want 5 each", done["a"], done["b"], done["c"])
	}
}

func TestAKeyThatIsLetOutWhileItIsWorkedOnStaysOut(t *testing.T) {
	queue, _ := newQueue()
	defer queue.ShutDown()
	b := newBacklog(queue, clocktesting.NewFakePassiveClock(time.Now()), 1)
	key := keyOf("a", "x")
	out := b.begin(key) // for an event
	b.add("a", []Key{key})
	b.done(key, out, true)
	if len(b.out) != 1 {
		t.Error("the pass for an event has taken the key back")
	}
	if b.work() != key || len(b.out) != 0 {
		t.Error("the key's own pass has not")
	}
}

func TestTheBreakerForgetsParentsThatHaveBeenQuiet(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Now())
	b := &breaker{clock: clock, spent: map[Key]*spending{}}
	key := keyOf("a", "1")
	for range loopBurst + 2 {
		b.wrote(key, 1, written{children: true})
	}
	if b.wait(key, 1) == 0 || !b.tripped(key, 1) {
		t.Error("the breaker has not tripped")
	}
	clock.SetTime(clock.Now().Add(loopPause + time.Second))
	if b.wait(key, 1) != 0 || len(b.spent) != 1 {
		t.Errorf("after the pause: wait %v, %d parents remembered; want 0 and 1", b.wait(key, 1), len(b.spent))
	}
	clock.SetTime(clock.Now().Add(loopBurst * loopRefill))
	if b.wait(key, 1) != 0 || len(b.spent) != 0 {
		t.Errorf("after a long time: %d parents remembered; want 0", len(b.spent))
	}
}
