package controllers

import (
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// timed is a queue whose delays go by the clock of the test.
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

// AddAfter keeps the earliest time that is asked for, as the real queue does.
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

// release puts into the queue what is due, and returns how much that is.
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

// next returns when the next item is due that skip does not hold for; zero is for never.
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

// operator makes an operator, with queues whose delays go by the clock of the test.
func (c *cluster) operator(o Options) (*Controllers, *reconcile.Reconciler) {
	s := newShared(o)
	if c.hasty {
		s.grace = 0
	}
	if c.greedy {
		s.memory = queue.NewMemory(0, s.tenants)
	}
	c.shared = s
	c.parentsDue = newTimed(s.parents, c.clock, s.failures)
	c.controllersDue = newTimed(s.controllers, c.clock, workqueue.NewTypedItemExponentialFailureRateLimiter[string](queue.FirstRetry, 30*time.Second))
	s.parents, s.controllers = c.parentsDue, c.controllersDue
	return s.join(o)
}

// run works until both queues are empty and returns the requests that it took. What is put off comes
// when the clock says so, and the watches bring nothing.
func (c *cluster) run() []string {
	c.t.Helper()
	before := len(c.requests)
	for range 1000 {
		c.parentsDue.release()
		c.controllersDue.release()
		if !c.work() {
			return append([]string{}, c.requests[before:]...)
		}
	}
	c.t.Fatal("the queues do not get empty")
	return nil
}

// work takes what is in the queues and reports whether there was anything.
func (c *cluster) work() bool {
	progress := c.runControllers()
	for c.parentsDue.Len() > 0 {
		key, _ := c.parentsDue.Get()
		c.reconciler.Again(key, c.reconciler.Reconcile(c.t.Context(), key))
		c.parentsDue.Done(key)
		progress = true
	}
	for !c.unasked && c.controllers.rights.Len() > 0 {
		c.controllers.rights.Next(c.t.Context())
		progress = true
	}
	return progress
}

// runControllers works until the queue of TemplateControllers is empty, and reports whether it was not.
func (c *cluster) runControllers() bool {
	progress := false
	for c.controllers.queue.Len() > 0 {
		name, _ := c.controllers.queue.Get()
		err := c.controllers.Sync(c.t.Context(), name)
		if err != nil && len(c.refuse) == 0 && !errors.Is(err, errBehind) {
			c.t.Fatal(err)
		}
		c.controllers.looked(name)
		c.controllers.again(c.t.Context(), name, err)
		c.controllers.queue.Done(name)
		progress = true
	}
	return progress
}

// settle works as run does, has the watches bring all that is written, the garbage collector do its work, and
// time pass, until nothing is left that looking again changes: what Result asks for is done when it is
// due. It returns all requests. It fails where there is no end to it.
func (c *cluster) settle() []string {
	c.t.Helper()
	before := len(c.requests)
	parents, controllers := idle[queue.Key]{}, idle[string]{}
	for range 10_000 {
		version := c.Version
		c.run()
		c.deliver()
		if c.Version != version || c.CollectGarbage() {
			parents, controllers = idle[queue.Key]{}, idle[string]{}
			c.deliver()
			continue
		}
		if c.parentsDue.Len()+c.controllers.queue.Len() > 0 {
			continue
		}
		next := c.parentsDue.next(parents.is)
		if at := c.controllersDue.next(controllers.is); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
		if next.IsZero() {
			return append([]string{}, c.requests[before:]...)
		}
		if next.After(c.clock.Now()) {
			c.clock.SetTime(next)
		}
		parents.note(c.parentsDue.release())
		controllers.note(c.controllersDue.release())
	}
	c.t.Fatal("it does not come to rest")
	return nil
}

// idle counts how often something was looked at because its time had come while
// nothing has changed.
type idle[T comparable] map[T]int

func (i idle[T]) note(items []T) {
	for _, item := range items {
		i[item]++
	}
}

func (i idle[T]) is(item T) bool { return i[item] > 1 }

// pass makes one pass over a parent that everything has been said about.
func (c *cluster) pass(controller, parent string) (reconcile.Result, []string) {
	c.t.Helper()
	before := len(c.requests)
	result := c.reconciler.Reconcile(c.t.Context(), queue.Key{Controller: controller, Parent: types.NamespacedName{Namespace: "ns", Name: parent}})
	return result, append([]string{}, c.requests[before:]...)
}

// quiet has the watches bring everything, and sees to it that nobody writes for that.
func (c *cluster) quiet(what string) {
	c.t.Helper()
	c.deliver()
	wantRequests(c.t.(*testing.T), what+", and then", c.run())
}

// begun is a cluster with these objects, in which all is as it should be.
func begun(t *testing.T, manifests ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	for _, m := range manifests {
		c.apply(m)
	}
	c.begin()
	return c
}

// begin has everything be as it should be.
func (c *cluster) begin() {
	c.t.Helper()
	c.run()
	c.quiet("the beginning")
}
