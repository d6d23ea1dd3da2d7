package reconciletest

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Timed is a delaying queue that uses the fake clock of the test.
type Timed[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	clock    clock.PassiveClock
	failures workqueue.TypedRateLimiter[T]

	mu  sync.Mutex
	due map[T]time.Time
}

// NewTimed returns a Timed that adds to queue. failures counts the failures of items.
func NewTimed[T comparable](queue workqueue.TypedRateLimitingInterface[T], clock clock.PassiveClock, failures workqueue.TypedRateLimiter[T]) *Timed[T] {
	return &Timed[T]{TypedRateLimitingInterface: queue, clock: clock, failures: failures, due: map[T]time.Time{}}
}

// AddAfter keeps the earliest time, as the real queue does.
func (q *Timed[T]) AddAfter(item T, after time.Duration) {
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

// AddRateLimited adds an item after a failure.
func (q *Timed[T]) AddRateLimited(item T) { q.AddAfter(item, q.failures.When(item)) }

// Forget resets the failures of an item.
func (q *Timed[T]) Forget(item T) { q.failures.Forget(item) }

// NumRequeues returns the number of failures of an item.
func (q *Timed[T]) NumRequeues(item T) int { return q.failures.NumRequeues(item) }

// Due returns when a delayed item is due, and whether it is delayed.
func (q *Timed[T]) Due(item T) (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, ok := q.due[item]
	return at, ok
}

// Wait returns the remaining delay of an item.
func (q *Timed[T]) Wait(item T) time.Duration {
	at, _ := q.Due(item)
	return at.Sub(q.clock.Now())
}

// Delayed returns the number of delayed items.
func (q *Timed[T]) Delayed() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.due)
}

// Drop drops all delayed items.
func (q *Timed[T]) Drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.due)
}

// Release adds the items that are due to the queue, and returns them.
func (q *Timed[T]) Release() (released []T) {
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

// Next returns when the next item is due, ignoring skipped items; zero means never.
func (q *Timed[T]) Next(skip func(T) bool) time.Time {
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

// idle counts how often each item was due since the last change.
type idle[T comparable] map[T]int

func (i idle[T]) note(items []T) {
	for _, item := range items {
		i[item]++
	}
}

func (i idle[T]) is(item T) bool { return i[item] > 1 }
