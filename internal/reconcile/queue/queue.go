// Package queue is a workqueue of parents that is fair between tenants, with retries and limits.
package queue

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Queue is the queue of parents to reconcile.
type Queue = workqueue.TypedRateLimitingInterface[Key]

// New returns a queue that is ordered and limited by turns. AddRateLimited waits for RetryDelay. New also returns the
// RateLimiter that counts failures. metrics may be nil.
func New(metrics workqueue.MetricsProvider, turns *FairQueue) (Queue, *RateLimiter) {
	const name = "parents"
	failures := newRateLimiter()
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, MetricsProvider: metrics, Queue: turns})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, MetricsProvider: metrics, Queue: &reportingQueue{queue, turns}})
	return workqueue.NewTypedRateLimitingQueueWithConfig[Key](failures, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, MetricsProvider: metrics, DelayingQueue: delaying}), failures
}

// reportingQueue is a queue that reports the end of reconciliations to turns.
type reportingQueue struct {
	workqueue.TypedInterface[Key]
	turns *FairQueue
}

// Done ends the reconciliation of a key.
func (p *reportingQueue) Done(key Key) {
	p.turns.done(key)
	p.TypedInterface.Done(key)
}

// Take processes the next key, blocking until there is one. It returns false if the queue is shut down or ctx is done.
// A queue that shuts down still returns its remaining keys, so Take drops them after ctx is done.
func Take[K comparable](ctx context.Context, queue workqueue.TypedInterface[K], work func(key K)) bool {
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

// Key identifies a parent of a TemplateController.
type Key struct {
	Controller string
	Parent     types.NamespacedName
}

// String returns the key for logs and errors.
func (k Key) String() string { return k.Controller + ": " + k.Parent.String() }

// DropController deletes the entries of a controller.
func DropController[V any](m map[Key]V, name string) {
	maps.DeleteFunc(m, func(key Key, _ V) bool { return key.Controller == name })
}
