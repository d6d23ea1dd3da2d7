// Package queue hands parents to a pool of workers: fairly between tenants, with retries and limits.
package queue

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
)

// Queue is the queue of parents to reconcile.
type Queue = workqueue.TypedRateLimitingInterface[Key]

// New returns a queue that serves tenants and controllers in turn and limits the reconciliations in progress, by turns;
// its AddRateLimited waits as RetryDelay says. It also returns the RateLimiter that counts failures. metrics may be nil.
func New(metrics workqueue.MetricsProvider, turns *Turns) (Queue, *RateLimiter) {
	const name = "parents"
	failures := &RateLimiter{failures: map[Key]int{}}
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, MetricsProvider: metrics, Queue: turns})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, MetricsProvider: metrics, Queue: &passes{queue, turns}})
	return workqueue.NewTypedRateLimitingQueueWithConfig[Key](failures, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, MetricsProvider: metrics, DelayingQueue: delaying}), failures
}

// passes is a queue that reports the end of reconciliations to its turns.
type passes struct {
	workqueue.TypedInterface[Key]
	turns *Turns
}

// Done ends the reconciliation of a key.
func (p *passes) Done(key Key) {
	p.turns.done(key)
	p.TypedInterface.Done(key)
}

// Take works on the next key of a queue and reports whether there may be more. No work begins after ctx: a queue that
// shuts down still hands out what it holds.
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

// Key names one parent of one TemplateController.
type Key struct {
	Controller string
	Parent     types.NamespacedName
}

// String is the key as logs and errors show it.
func (k Key) String() string { return k.Controller + ": " + k.Parent.String() }

// DropController drops what is kept of the parents of a controller.
func DropController[V any](m map[Key]V, name string) {
	maps.DeleteFunc(m, func(key Key, _ V) bool { return key.Controller == name })
}
