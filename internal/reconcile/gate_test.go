package reconcile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// begin takes keys from the queue until it is empty, and returns those whose passes may begin.
func (g *gate) begin() []string {
	out := []string{}
	for g.queue.Len() > 0 {
		key, _ := g.queue.Get()
		if g.enter(key) {
			out = append(out, key.Controller+"/"+key.Parent.Name)
		}
		g.queue.Done(key)
	}
	return out
}

func (g *gate) idle() bool {
	return g.passes+len(g.passing)+len(g.held)+len(g.holding)+len(g.let) == 0
}

func TestAControllerHasAsManyPassesAsThereAreWorkers(t *testing.T) {
	queue, _ := newQueue(nil)
	defer queue.ShutDown()
	g := newGate(queue, 3)
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(append([]string{}, want...), g.begin()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for _, key := range append(manyKeys("a", 6), manyKeys("b", 2)...) {
		queue.Add(key)
	}
	expect("at first", "a/0", "b/0", "a/1", "b/1", "a/2")
	queue.Add(keyOf("a", "4")) // again
	expect("those that are held stay held")
	g.leave(keyOf("b", "0"))
	expect("the end of another controller's pass")
	g.leave(keyOf("a", "1"))
	queue.Add(keyOf("a", "9"))
	expect("one has ended, and the others keep their turn", "a/3")
	for range 3 {
		g.leave(keyOf("a", "0"))
	}
	expect("all have ended", "a/4", "a/5", "a/9")
	queue.Add(keyOf("a", "4"))
	expect("one that was held is held anew")
	for range 3 {
		g.leave(keyOf("a", "0"))
	}
	expect("and let in once", "a/4")
	g.leave(keyOf("a", "4"))
	g.leave(keyOf("b", "1"))
	if !g.idle() {
		t.Errorf("something is left over: %+v", g)
	}
}

func TestInACrowdEachControllerHasOnePass(t *testing.T) {
	queue, _ := newQueue(nil)
	defer queue.ShutDown()
	g := newGate(queue, 2)
	for i := range crowd {
		for n := range 2 {
			queue.Add(keyOf(fmt.Sprint("hangs-", i), fmt.Sprint(n)))
		}
	}
	if got := len(g.begin()); got != 2*crowd {
		t.Fatalf("%d passes begin, want %d", got, 2*crowd)
	}
	for _, key := range manyKeys("a", 4) {
		queue.Add(key)
	}
	if diff := cmp.Diff([]string{"a/0"}, g.begin()); diff != "" {
		t.Errorf("in a crowd (-want +got):\n%s", diff)
	}
	g.leave(keyOf("a", "0"))
	if diff := cmp.Diff([]string{"a/1"}, g.begin()); diff != "" {
		t.Errorf("after its end (-want +got):\n%s", diff)
	}
	g.leave(keyOf("hangs-0", "0"))
	g.leave(keyOf("hangs-0", "1"))
	queue.Add(keyOf("a", "4"))
	if diff := cmp.Diff([]string{}, g.begin()); diff != "" {
		t.Errorf("one overtakes those that are held (-want +got):\n%s", diff)
	}
	g.leave(keyOf("a", "1"))
	if diff := cmp.Diff([]string{"a/2", "a/3"}, g.begin()); diff != "" {
		t.Errorf("after the crowd (-want +got):\n%s", diff)
	}
}

func TestTheCrowdBeginsWithTheLastThatThereIsRoomFor(t *testing.T) {
	queue, _ := newQueue(nil)
	defer queue.ShutDown()
	g := newGate(queue, 2)
	for i := range crowd - 1 {
		for _, key := range manyKeys(fmt.Sprint("hangs-", i), 2) {
			queue.Add(key)
		}
	}
	queue.Add(keyOf("hangs", "0"))
	if got, want := len(g.begin()), g.all-1; got != want {
		t.Fatalf("%d passes begin, want %d", got, want)
	}
	for _, key := range manyKeys("a", 2) {
		queue.Add(key)
	}
	if diff := cmp.Diff([]string{"a/0"}, g.begin()); diff != "" {
		t.Errorf("there is room for one more (-want +got):\n%s", diff)
	}
}
