package queue

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/templater-dev/templater/api/v1"
)

// inTurn is a queue whose reconciliations begin and end under control of a test.
type inTurn struct {
	Queue
	*FairQueue
	t *testing.T
}

func newInTurn(t *testing.T, workers int) *inTurn {
	t.Helper()
	turns := NewFairQueue(workers, NewTenants(), nil)
	queue, _ := New(nil, turns)
	t.Cleanup(queue.ShutDown)
	return &inTurn{queue, turns, t}
}

func (q *inTurn) add(keys ...Key) {
	for _, key := range keys {
		q.Add(key)
	}
}

// begin begins as many reconciliations as possible, and compares their order with want.
func (q *inTurn) begin(why string, want ...string) {
	q.t.Helper()
	got := []string{}
	for q.Queue.Len() > 0 {
		key, _ := q.Get()
		got = append(got, key.Controller+"/"+key.Parent.Name)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		q.t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

func (q *inTurn) end(controller string, parents ...string) {
	for _, parent := range parents {
		q.Done(keyOf(controller, parent))
	}
}

func (q *inTurn) expectIdle() {
	q.t.Helper()
	if n := len(q.lanes) + len(q.order) + len(q.shares) + len(q.reconciliations) + q.hanging + q.length; n > 0 {
		q.t.Errorf("something is left over: %+v", q.FairQueue)
	}
}

func TestFreeWorkerServesControllerWithFewestRunning(t *testing.T) {
	q := newInTurn(t, 4)
	q.add(manyKeys("a", 9)...)
	q.begin("one controller alone has all workers", "a/0", "a/1", "a/2", "a/3")
	q.add(manyKeys("b", 9)...)
	q.begin("another one begins at once", "b/0")
	q.end("a", "0")
	q.begin("there is one too many")
	q.end("a", "1")
	q.begin("what is free goes to the one that has less", "b/1")
	q.end("b", "0", "1")
	q.begin("however many of its reconciliations end", "b/2", "b/3")
	q.end("a", "2", "3")
	q.end("b", "2", "3")
	q.begin("and in turn", "a/4", "b/4", "a/5", "b/5")
	q.end("a", "4", "5")
	q.begin("half of the workers each", "a/6", "a/7")
	q.end("a", "6", "7")
	q.end("b", "4", "5")
	q.begin("to the last", "b/6", "a/8", "b/7", "b/8")
	q.end("a", "8")
	q.end("b", "6", "7", "8")
	q.expectIdle()
}

func TestControllersOfTenantShareWorkers(t *testing.T) {
	q := newInTurn(t, 4)
	for i := range 3 {
		q.tenants.Set(fmt.Sprint("a-", i), &v1.ServiceAccountRef{Namespace: "a", Name: fmt.Sprint(i)})
		q.add(manyKeys(fmt.Sprint("a-", i), 4)...)
	}
	q.tenants.Set("b", &v1.ServiceAccountRef{Namespace: "b", Name: "b"})
	q.add(manyKeys("b", 4)...)
	q.begin("half of the workers each", "a-0/0", "b/0", "a-1/0", "b/1", "a-2/0")
	q.end("b", "0", "1")
	q.begin("it has half of them still", "b/2")
	q.end("a-0", "0")
	q.end("a-1", "0")
	q.begin("what is free goes to both, and to the controllers of one in turn", "a-0/1", "b/3", "a-1/1")
	for _, done := range []string{"a-0", "a-1"} {
		q.end(done, "1")
	}
	q.end("a-2", "0")
	q.end("b", "2", "3")
	q.begin("a tenant alone has all", "a-2/1", "a-0/2", "a-1/2", "a-2/2")
}

func TestHangingReconciliationsFreeTheirSlots(t *testing.T) {
	q := newInTurn(t, 2)
	q.add(manyKeys("a", 9)...)
	q.begin("at first", "a/0", "a/1")
	q.add(manyKeys("b", 3)...)
	q.begin("another", "b/0")
	q.Hangs(keyOf("a", "0"))
	q.Hangs(keyOf("a", "0"))
	q.Hangs(keyOf("a", "7")) // not in progress
	q.begin("two work, and one hangs")
	q.Hangs(keyOf("a", "1"))
	q.begin("one works, and two hang", "b/1")
	q.end("b", "0", "1")
	q.begin("of one controller there are as many as workers at most", "b/2")
	q.end("a", "0", "1")
	q.begin("they hang no more", "a/2")
	q.end("b", "2")
	q.begin("all slots are for those that are left", "a/3")
	if q.hanging != 0 {
		t.Errorf("%d reconciliations hang, want none", q.hanging)
	}
}

func TestCrowdedQueueLimitsControllersToOneWorker(t *testing.T) {
	q := newInTurn(t, 2)
	for i := range overcommit {
		q.add(manyKeys(fmt.Sprint("hangs-", i), 2)...)
	}
	for q.Queue.Len() > 0 { // because they hang, others begin
		key, _ := q.Get()
		q.Hangs(key)
	}
	if got := len(q.reconciliations); got != 2*overcommit {
		t.Fatalf("%d reconciliations are under way, want %d", got, 2*overcommit)
	}
	q.add(manyKeys("a", 4)...)
	q.begin("in a crowd", "a/0")
	q.end("a", "0")
	q.begin("after its end", "a/1")
	q.end("hangs-0", "0")
	q.begin("it is a crowd still")
	q.end("hangs-0", "1")
	q.begin("after the crowd", "a/2")
	q.end("a", "1", "2")
	q.begin("to the last", "a/3")
}

func TestTenantConcurrencyIsLimited(t *testing.T) {
	q := newInTurn(t, 2)
	for i := range 2 * overcommit {
		controller := fmt.Sprintf("hangs-%02d", i)
		q.tenants.Set(controller, &v1.ServiceAccountRef{Namespace: "a", Name: "a"})
		q.add(manyKeys(controller, 2)...)
	}
	for q.Queue.Len() > 0 {
		key, _ := q.Get()
		q.Hangs(key)
	}
	if got, want := len(q.reconciliations), 2*tenantOvercommit; got != want {
		t.Fatalf("%d reconciliations are under way, want %d", got, want)
	}
	q.add(manyKeys("b", 3)...)
	q.begin("another tenant has its slots", "b/0", "b/1")
	q.end("hangs-03", "0")
	q.begin("what has not begun comes first", "hangs-08/0")
}
