package queue

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

func TestQueueServesControllersRoundRobin(t *testing.T) {
	queue, _ := New(nil, NewFairQueue(100, NewTenants(), nil))
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

// work processes the next key, and returns it.
func (b *Backlog) work() Key {
	key, _ := b.queue.Get()
	out := b.Begin(key)
	b.queue.Done(key)
	if out {
		b.Done(key)
	}
	return key
}

func TestBacklogReleasesFewKeysPerController(t *testing.T) {
	queue, _ := New(nil, NewFairQueue(100, NewTenants(), nil))
	defer queue.ShutDown()
	b := NewBacklog(queue, 8)
	b.Add("a", manyKeys("a", 100))
	b.Add("b", manyKeys("b", 3))
	done := map[string]int{}
	for n := 0; n < 103; n++ {
		if got, want := queue.Len(), min(8, 103-n); got < want || got > want+1 { // one more while no key of b is in the queue
			t.Fatalf("%d keys are in the queue after %d reconciliations, want %d", got, n, want)
		}
		done[b.work().Controller]++
		if n == 20 && done["b"] != 3 {
			t.Errorf("%d reconciliations of b after 20: it waits for a", done["b"])
		}
	}
	if queue.Len() > 0 || len(b.waiting)+len(b.order)+len(b.out)+len(b.outOf) > 0 {
		t.Errorf("something is left over: %+v", b)
	}
}

func TestBacklogServesControllersRoundRobin(t *testing.T) {
	queue, _ := New(nil, NewFairQueue(100, NewTenants(), nil))
	defer queue.ShutDown()
	b := NewBacklog(queue, 2)
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), take(queue)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	b.Add("a", manyKeys("a", 5))
	b.turn = 0
	b.Add("b", manyKeys("b", 5))
	expect("at first", "a/0", "b/0", "a/1")
	b.Done(keyOf("a", "0"))
	expect("there is one too many")
	b.Done(keyOf("a", "1"))
	expect("b was the last", "a/2")
	b.Done(keyOf("b", "0"))
	expect("a was the last", "b/1")
}

func TestBacklogIsReplacedOnControllerChange(t *testing.T) {
	queue, _ := New(nil, NewFairQueue(100, NewTenants(), nil))
	defer queue.ShutDown()
	b := NewBacklog(queue, 2)
	b.Add("a", manyKeys("a", 5))
	b.Add("a", []Key{keyOf("a", "x")})
	b.Add("a", nil)
	var got []string
	for queue.Len() > 0 {
		got = append(got, b.work().Parent.Name)
	}
	if diff := cmp.Diff([]string{"0", "1", "x"}, got); diff != "" {
		t.Errorf("passes (-want +got):\n%s", diff)
	}
}

func TestHangingControllerDoesNotBlockOthers(t *testing.T) {
	queue, _ := New(nil, NewFairQueue(100, NewTenants(), nil))
	defer queue.ShutDown()
	b := NewBacklog(queue, 2)
	b.Add("hangs", manyKeys("hangs", 100))
	if got := len(take(queue)); got != 2 {
		t.Fatalf("%d keys are out at first, want 2", got)
	}
	b.Add("b", manyKeys("b", 50))
	b.Add("c", manyKeys("c", 50))
	done := map[string]int{}
	for queue.Len() > 0 {
		done[b.work().Controller]++
	}
	if want := map[string]int{"b": 50, "c": 50}; !maps.Equal(done, want) {
		t.Errorf("passes by controller: %v, want %v", done, want)
	}
}

func TestEventReconciliationKeepsBacklogKeyQueued(t *testing.T) {
	queue, _ := New(nil, NewFairQueue(100, NewTenants(), nil))
	defer queue.ShutDown()
	b := NewBacklog(queue, 1)
	key := keyOf("a", "x")
	out := b.Begin(key) // for an event
	b.Add("a", []Key{key})
	if out || len(b.out) != 1 {
		t.Error("the reconciliation for an event has taken the key back")
	}
	if b.work() != key || len(b.out) != 0 {
		t.Error("the key's own reconciliation has not")
	}
}

func TestTakeFromShutDownQueueReturnsFalse(t *testing.T) {
	queue := workqueue.NewTyped[string]()
	queue.ShutDown()
	if Take(t.Context(), queue, func(string) { t.Error("work begins") }) {
		t.Error("there may be more")
	}
}

func TestTakeProcessesKeyOnce(t *testing.T) {
	queue := workqueue.NewTyped[string]()
	defer queue.ShutDown()
	queue.Add("a")
	var got []string
	if !Take(t.Context(), queue, func(key string) { got = append(got, key); queue.Add(key) }) {
		t.Error("there is no more")
	}
	if diff := cmp.Diff([]string{"a"}, got); diff != "" || queue.Len() != 1 {
		t.Errorf("work (-want +got):\n%s%d keys wait, want the one that was added meanwhile", diff, queue.Len())
	}
}

func TestNoWorkStartsAfterCancellation(t *testing.T) {
	queue := workqueue.NewTyped[string]()
	defer queue.ShutDown()
	queue.Add("a")
	ctx, end := context.WithCancel(t.Context())
	end()
	if Take(ctx, queue, func(string) { t.Error("work begins") }) {
		t.Error("there may be more")
	}
	if queue.Add("a"); queue.Len() != 1 {
		t.Error("the key is not given back")
	}
}
