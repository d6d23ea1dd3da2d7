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

func TestTheBacklogKeepsAllWorkersBusy(t *testing.T) {
	queue, _ := newQueue()
	defer queue.ShutDown()
	b := newBacklog(queue, clocktesting.NewFakePassiveClock(time.Now()), 4)
	b.add("a", manyKeys("a", 100))
	b.add("b", manyKeys("b", 3))
	for done := 1; ; done++ {
		if n := queue.Len(); n != min(8, 104-done) {
			t.Fatalf("%d keys are in the queue after %d passes, want 8 or what is left", n, done-1)
		}
		key, _ := queue.Get()
		queue.Done(key)
		b.done(key, true)
		if queue.Len() == 0 {
			if done != 103 {
				t.Errorf("%d passes, want 103", done)
			}
			return
		}
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
		key, _ := queue.Get()
		queue.Done(key)
		b.done(key, true)
		got = append(got, key.Parent.Name)
	}
	if diff := cmp.Diff([]string{"0", "1", "x"}, got); diff != "" {
		t.Errorf("passes (-want +got):\n%s", diff)
	}
}

func TestTheBacklogMakesRoomForOthers(t *testing.T) {
	for why, row := range map[string]struct {
		writer string
		wrote  bool
		later  time.Duration
		want   int // keys of "a" in the queue in the end
	}{
		"another controller wrote":              {"b", true, 0, narrow},
		"it was a while ago":                    {"b", true, courtesy, 8},
		"it had nothing to write":               {"b", false, 0, 8},
		"the controller itself follows changes": {"a", true, 0, 8},
	} {
		t.Run(why, func(t *testing.T) {
			queue, _ := newQueue()
			defer queue.ShutDown()
			clock := clocktesting.NewFakePassiveClock(time.Now())
			b := newBacklog(queue, clock, 4)
			b.add("a", manyKeys("a", 100))
			b.done(keyOf(row.writer, "single"), row.wrote)
			clock.SetTime(clock.Now().Add(row.later))
			for range 50 {
				key, _ := queue.Get()
				queue.Done(key)
				b.done(key, true)
			}
			if got := queue.Len(); got != row.want {
				t.Errorf("%d keys are out, want %d", got, row.want)
			}
		})
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
	clock.SetTime(clock.Now().Add((loopBurst + 2) * loopRefill))
	if b.wait(key, 1) != 0 || len(b.spent) != 0 {
		t.Errorf("after a long time: %d parents remembered; want 0", len(b.spent))
	}
}
