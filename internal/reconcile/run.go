package reconcile

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// ErrPanic means that a reconciliation panicked. It is retried.
var ErrPanic = errors.New("panic in a reconciliation: this is a bug, please report it with the stack trace from the log")

// Run processes the queue until ctx is done, and returns when all running reconciliations have finished. They are canceled when work is done or
// the grace period expires.
func (r *Reconciler) Run(ctx, work context.Context) {
	r.settling.Begin(r.Clock.Now()) // another replica may have been the leader until now
	stop := context.AfterFunc(ctx, r.Queue.ShutDown)
	defer stop()
	var lookups sync.WaitGroup
	lookups.Go(func() { r.Workers.Rights.Run(ctx) })
	defer lookups.Wait()
	pool := &queue.Pool{
		Tracker: r.Workers.Tracker, Grace: r.Workers.Grace, Spare: r.Workers.Number, Due: r.Queue.Len, Hangs: r.Workers.FairQueue.Hangs,
		Next: func(work context.Context, taken func()) bool { return r.Next(ctx, work, taken) },
	}
	pool.Run(ctx, work)
}

// Next reconciles one key, and returns false after shutdown. No reconciliation starts after ctx is done, and none continues after work is done.
func (r *Reconciler) Next(ctx, work context.Context, taken func()) bool {
	return queue.Take(ctx, r.Queue, func(key queue.Key) {
		taken()
		start := r.Clock.Now()
		result, err := r.guarded(work, key)
		if err != nil {
			klog.FromContext(ctx).Error(err, "reconciliation failed, will retry", "controller", key.Controller, "parent", key.Parent.String())
			result = Result{Retry: problem.RetryBackoff, Outcome: record.Panicked}
		}
		r.Controllers.Measure(key.Controller, result.Outcome, r.Clock.Since(start))
		r.Requeue(key, result)
		queue.WorkerOf(work).Rest(ctx)
	})
}

const (
	// longestSoon is the maximum delay of RetrySoon and RetryNow. freshDataLag is the initial delay of RetryNow.
	longestSoon  = 10 * time.Second
	freshDataLag = 100 * time.Millisecond
)

// Requeue adds the key to the queue after the delay in result.
func (r *Reconciler) Requeue(key queue.Key, result Result) {
	switch result.Retry {
	case problem.RetryOnChange, problem.RetryDenied:
		r.Queue.Forget(key)
	case problem.RetrySlower:
		r.Queue.AddAfter(key, r.Failures.Pace(key, problem.SlowRetry))
	case problem.RetrySlow:
		r.Queue.Forget(key)
		r.Queue.AddAfter(key, queue.Jitter(problem.SlowRetry))
	case problem.RetryBackoff:
		r.Queue.AddAfter(key, r.Failures.Pace(key, 0))
	case problem.RetrySoon:
		r.Queue.AddAfter(key, min(r.Failures.When(key), queue.Jitter(longestSoon)))
	case problem.RetryNow:
		r.Queue.AddAfter(key, min(r.Failures.When(key)/(queue.FirstRetry/freshDataLag), queue.Jitter(longestSoon))) // the caches may lag behind
	}
	r.paceDenied(key, result)
	if result.After > 0 {
		r.Queue.AddAfter(key, result.After) // the earlier time counts
	}
	if result.Again {
		r.Queue.Add(key) // the queue holds it until this reconciliation ends
	}
}

// paceDenied enqueues a parent that lacks a permission. Once a parent is granted the permission, other parents that wait for it are enqueued.
func (r *Reconciler) paceDenied(key queue.Key, result Result) {
	var woken []queue.Key
	switch {
	case result.Denial != (problem.Denial{}):
		var after time.Duration
		after, woken = r.Waiting.Add(key, result.Denial)
		r.Queue.AddAfter(key, after)
	case result.Outcome == record.Skipped, result.Outcome == record.Panicked:
	default:
		woken = r.Waiting.Done(key)
	}
	for _, other := range woken {
		r.Queue.Add(other)
	}
}

// guarded is like Reconcile, and returns an error if it panics, so that a panic affects this key only.
func (r *Reconciler) guarded(ctx context.Context, key queue.Key) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			klog.FromContext(ctx).Error(nil, "panic in a reconciliation", "controller", key.Controller, "parent", key.Parent.String(), "stack", string(debug.Stack()))
			r.reportPanic(key)
			err = ErrPanic
		}
	}()
	return r.Reconcile(ctx, key), nil
}

// reportPanic publishes one Event about a panic.
func (r *Reconciler) reportPanic(key queue.Key) {
	defer func() { _ = recover() }() // this may panic for the same reason
	const text = "the reconciliation panicked and will be retried: this is a bug in templater, please report it with the stack trace in the operator's log"
	c, leave := r.Controllers.Enter(key.Controller)
	defer leave()
	if c == nil {
		return
	}
	if parent := c.Parent(key.Parent); parent != nil && r.Recorder.Fresh(key, v1.ReasonInternalError+text) {
		r.Recorder.Announce(c.As, key, request.Announcement{About: parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonInternalError, Message: text})
	}
}

// Busy returns the reconciliations in progress.
func (r *Reconciler) Busy() []queue.Work { return r.Workers.Tracker.Busy() }
