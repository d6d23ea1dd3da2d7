package reconcile

import (
	"context"

	"k8s.io/client-go/util/workqueue"
)

// Queue is the queue of parents to look at.
type Queue = workqueue.TypedRateLimitingInterface[Key]

// newQueue returns a queue that serves the controllers in turn, whose AddRateLimited
// waits as retryDelay says, and what counts its failures. metrics may be nil.
func newQueue(metrics workqueue.MetricsProvider) (Queue, *limiter) {
	const name = "parents"
	failures := &limiter{failures: map[Key]int{}}
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, MetricsProvider: metrics, Queue: &turns{lanes: map[string][]Key{}}})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, MetricsProvider: metrics, Queue: queue})
	return workqueue.NewTypedRateLimitingQueueWithConfig[Key](failures, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, MetricsProvider: metrics, DelayingQueue: delaying}), failures
}

// takeOne works on the next key of a queue and reports whether there may be more. No work begins after ctx: a queue that
// shuts down still hands out what it holds.
func takeOne[K comparable](ctx context.Context, queue workqueue.TypedInterface[K], work func(key K)) bool {
	key, shutdown := queue.Get()
	if shutdown {
		return false
	}
	defer queue.Done(key)
	if ctx.Err() != nil {
		return false
	}
	work(key)
	return true
}

// turns holds keys in a lane for each controller, first in first out, and takes
// from the lanes in turn: ten thousand changes for one controller do not keep one change for
// another waiting. The workqueue guards it.
type turns struct {
	lanes  map[string][]Key // none is empty
	order  []string         // of the lanes
	length int
}

var _ workqueue.Queue[Key] = (*turns)(nil)

// Touch leaves the key where it is.
func (t *turns) Touch(Key) {}

// Push puts a key at the end of its controller's lane.
func (t *turns) Push(key Key) {
	lane, ok := t.lanes[key.Controller]
	if !ok {
		t.order = append(t.order, key.Controller)
	}
	t.lanes[key.Controller] = append(lane, key)
	t.length++
}

// Len returns the number of keys.
func (t *turns) Len() int { return t.length }

// Pop takes the key whose turn it is. There must be one.
func (t *turns) Pop() Key {
	controller := t.order[0]
	t.order = t.order[1:]
	lane := t.lanes[controller]
	key := lane[0]
	if lane = lane[1:]; len(lane) > 0 {
		t.lanes[controller] = lane
		t.order = append(t.order, controller)
	} else {
		delete(t.lanes, controller)
	}
	t.length--
	return key
}
