package reconcile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// timed is a queue whose delays pass by the clock of the test.
type timed[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	clock    clock.PassiveClock
	failures workqueue.TypedRateLimiter[T]

	mu  sync.Mutex
	due map[T]time.Time
}

func newTimed[T comparable](queue workqueue.TypedRateLimitingInterface[T], clock clock.PassiveClock, failures workqueue.TypedRateLimiter[T]) *timed[T] {
	return &timed[T]{TypedRateLimitingInterface: queue, clock: clock, failures: failures, due: map[T]time.Time{}}
}

// AddAfter keeps the earliest time, as the real queue does.
func (q *timed[T]) AddAfter(item T, after time.Duration) {
	if after <= 0 {
		q.Add(item)
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := q.clock.Now().Add(after)
	if before, ok := q.due[item]; !ok || at.Before(before) {
		q.due[item] = at
	}
}

func (q *timed[T]) AddRateLimited(item T) { q.AddAfter(item, q.failures.When(item)) }
func (q *timed[T]) Forget(item T)         { q.failures.Forget(item) }
func (q *timed[T]) NumRequeues(item T) int {
	return q.failures.NumRequeues(item)
}

// release adds the items that are due to the queue, and returns them.
func (q *timed[T]) release() (released []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for item, at := range q.due {
		if !at.After(q.clock.Now()) {
			delete(q.due, item)
			q.Add(item)
			released = append(released, item)
		}
	}
	return released
}

// next returns when the next item is due that is not skipped; zero means never.
func (q *timed[T]) next(skip func(T) bool) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	var next time.Time
	for item, at := range q.due {
		if !skip(item) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// run works until both queues are empty and returns the requests. Delays pass by the clock of the test. Caches see own writes only.
func (c *cluster) run() []string {
	c.t.Helper()
	before := len(c.requests)
	for range 1000 {
		c.parentsDue.release()
		if !c.work() {
			return append([]string{}, c.requests[before:]...)
		}
	}
	c.t.Fatal("the queues do not get empty")
	return nil
}

// work empties the queues and reports whether there was anything.
func (c *cluster) work() bool {
	progress := c.runControllers()
	for c.parentsDue.Len() > 0 {
		key, _ := c.parentsDue.Get()
		c.reconciler.Again(key, c.reconciler.Reconcile(c.context(), key))
		c.parentsDue.Done(key)
		progress = true
	}
	for !c.unasked && c.shared.rights.Len() > 0 {
		c.shared.rights.Next(c.context())
		progress = true
	}
	return progress
}

// settle runs, updates the caches, collects garbage and lets time pass, until another reconciliation of what is due changes nothing. It
// returns all requests, and fails the test if there is no end.
func (c *cluster) settle() []string {
	c.t.Helper()
	before := len(c.requests)
	parents := idle[queue.Key]{}
	for range 10_000 {
		version := c.Version
		c.run()
		c.deliver()
		if c.Version != version || c.CollectGarbage() {
			parents = idle[queue.Key]{}
			c.deliver()
			continue
		}
		if c.parentsDue.Len()+c.controllers.queue.Len() > 0 {
			continue
		}
		next := c.parentsDue.next(parents.is)
		if next.IsZero() {
			return append([]string{}, c.requests[before:]...)
		}
		if next.After(c.clock.Now()) {
			c.clock.SetTime(next)
		}
		parents.note(c.parentsDue.release())
	}
	c.t.Fatal("it does not come to rest")
	return nil
}

// idle counts how often an item was due since the last change.
type idle[T comparable] map[T]int

func (i idle[T]) note(items []T) {
	for _, item := range items {
		i[item]++
	}
}

func (i idle[T]) is(item T) bool { return i[item] > 1 }

// pass reconciles a parent once and returns the requests.
func (c *cluster) pass(controller, parent string) (reconcile.Result, []string) {
	c.t.Helper()
	before := len(c.requests)
	result := c.reconciler.Reconcile(c.context(), queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}})
	return result, append([]string{}, c.requests[before:]...)
}

// quiet updates the caches and checks that this causes no request.
func (c *cluster) quiet(what string) {
	c.t.Helper()
	c.deliver()
	wantRequests(c.t.(*testing.T), what+", and then", c.run())
}

// begun returns a cluster with these objects, which are reconciled.
func begun(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	for _, m := range manifests {
		c.apply(m)
	}
	c.begin()
	return c
}

// begin reconciles all, and checks that the watches of that cause no request.
func (c *cluster) begin() {
	c.t.Helper()
	c.run()
	c.quiet("the beginning")
}

// after lets time pass, has done what is due meanwhile, and returns the number of requests.
func (c *cluster) after(d time.Duration) int {
	c.t.Helper()
	before, end := len(c.requests), c.clock.Now().Add(d)
	for {
		c.run()
		c.deliver()
		c.run()
		next := c.parentsDue.next(func(queue.Key) bool { return false })
		if next.IsZero() || next.After(end) {
			c.clock.SetTime(end)
			return len(c.requests) - before
		}
		c.clock.SetTime(next)
	}
}

// parentCounts returns how many parents of apps there are, and how they fare.
func (c *cluster) parentCounts() string {
	n := c.controllers.tracked["apps"].counts.Parents
	return fmt.Sprintf("total %d, ready %d, failed %d", n.Total, n.Ready, n.Failed)
}

// context is that of the test, also while it is cleaned up.
func (c *cluster) context() context.Context { return context.WithoutCancel(c.t.Context()) }

// end ends the test.
func (c *cluster) end() {
	c.rest()
	for _, end := range c.ends {
		end()
	}
}

// rest has the server accept all again, waits until nothing is left to do, and reconciles all parents once more, which changes nothing.
func (c *cluster) rest() {
	if c.t.Failed() || c.restless {
		return
	}
	clear(c.refuse)
	clear(c.lacks)
	c.during = nil
	c.settle()
	version, before := c.Version, len(c.requests)
	for name, e := range c.controllers.tracked {
		for _, parent := range e.current.ParentNames() {
			c.reconciler.Reconcile(c.context(), queue.Key{Controller: name, Parent: parent})
		}
	}
	if c.Version != version {
		c.t.Errorf("a reconciliation that has nothing to do makes the requests %q", c.requests[before:])
	}
}
