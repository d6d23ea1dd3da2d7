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

// ErrPanic says that a reconciliation panicked. It is retried.
var ErrPanic = errors.New("panic in a reconciliation: this is a bug, please report it with the stack trace from the log")

// Run works through the queue until ctx ends, and returns when all reconciliations in progress have ended. They are cancelled when work
// ends, or when they take longer than the grace period.
func (r *Reconciler) Run(ctx, work context.Context) {
	r.settling.Begin(r.Clock.Now()) // until now, another replica may have led
	stop := context.AfterFunc(ctx, r.Queue.ShutDown)
	defer stop()
	var lookups sync.WaitGroup
	lookups.Go(func() { r.Workers.Rights.Run(ctx) })
	defer lookups.Wait()
	pool := &queue.Pool{
		Tracker: r.Workers.Tracker, Grace: r.Workers.Grace, Spare: r.Workers.Number, Due: r.Queue.Len, Hangs: r.Workers.Turns.Hangs,
		Next: func(work context.Context, taken func()) bool { return r.Next(ctx, work, taken) },
	}
	pool.Run(ctx, work)
}

// Next reconciles one key, and reports whether there may be more. No reconciliation begins after ctx ended, and none continues after work
// ended.
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
		r.Again(key, result)
		queue.WorkerOf(work).Rest(ctx)
	})
}

const (
	// longestSoon bounds the waits of RetrySoon and RetryNow, of which the last begins with freshDataLag.
	longestSoon  = 10 * time.Second
	freshDataLag = 100 * time.Millisecond
)

// Again queues the key for when it is due.
func (r *Reconciler) Again(key queue.Key, result Result) {
	switch result.Retry {
	case problem.RetryOnChange, problem.RetryDenied:
		r.Queue.Forget(key)
	case problem.RetrySlower:
		r.Queue.AddAfter(key, max(queue.Jitter(problem.SlowRetry), r.Failures.When(key)))
	case problem.RetrySlow:
		r.Queue.Forget(key)
		r.Queue.AddAfter(key, queue.Jitter(problem.SlowRetry))
	case problem.RetryBackoff:
		r.Queue.AddRateLimited(key)
	case problem.RetrySoon:
		r.Queue.AddAfter(key, min(r.Failures.When(key), queue.Jitter(longestSoon)))
	case problem.RetryNow:
		r.Queue.AddAfter(key, min(r.Failures.When(key)/(queue.FirstRetry/freshDataLag), queue.Jitter(longestSoon))) // newer data may be late
	}
	r.paceDenied(key, result)
	if result.After > 0 {
		r.Queue.AddAfter(key, result.After) // the earlier one counts
	}
	if result.Again {
		r.Queue.Add(key) // the queue holds it until this reconciliation ends
	}
}

// paceDenied queues a parent that lacks a permission. Once a parent has it, parents that wait for the same permission are queued.
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

// guarded is Reconcile with a panic turned into an error, so that it affects this key only.
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
	defer func() { _ = recover() }() // reading this parent may be what panics
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
