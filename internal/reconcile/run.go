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
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/workers"
)

// ErrPanic says that work has met a bug. What it was about is tried again.
var ErrPanic = errors.New("panic in a pass: this is a bug, please report it with the stack from the log")

// Run works through the queue until ctx ends, and returns when all passes under way are
// finished. Those that are not when work ends, or take long, are cut short.
func (r *Reconciler) Run(ctx, work context.Context) {
	r.settling.begin(r.clock.Now()) // until now, another replica may have led
	stop := context.AfterFunc(ctx, r.queue.ShutDown)
	defer stop()
	var asking sync.WaitGroup
	asking.Go(func() { r.rights.Run(ctx) })
	defer asking.Wait()
	pool := &workers.Pool{
		Tracker: r.tracker, Grace: r.grace, Spare: r.workers, Due: r.queue.Len, Hangs: r.turns.Hangs,
		Next: func(work context.Context, taken func()) bool { return r.Next(ctx, work, taken) },
	}
	pool.Run(ctx, work)
}

// Next works on one key and reports whether there may be more. No work begins after ctx,
// and none goes on after work.
func (r *Reconciler) Next(ctx, work context.Context, taken func()) bool {
	return queue.Take(ctx, r.queue, func(key queue.Key) {
		taken()
		start := r.clock.Now()
		result, err := r.guarded(work, key)
		if err != nil {
			klog.FromContext(ctx).Error(err, "pass failed, will retry", "controller", key.Controller, "parent", key.Parent.String())
			result = Result{Retry: problem.RetryBackoff, Outcome: measure.Panicked}
		}
		r.controllers.Measure(key.Controller, result.Outcome, r.clock.Since(start))
		r.Again(key, result)
		workers.Of(work).Rest(ctx)
	})
}

const (
	// longestSoon bounds the waits of RetrySoon and RetryNow, of which the last begins with freshDataLag.
	longestSoon  = 10 * time.Second
	freshDataLag = 100 * time.Millisecond
)

// Again puts the key back when it is due.
func (r *Reconciler) Again(key queue.Key, result Result) {
	switch result.Retry {
	case problem.RetryOnChange, problem.RetryDenied:
		r.queue.Forget(key)
	case problem.RetrySlower:
		r.queue.AddAfter(key, max(queue.Jitter(problem.SlowRetry), r.failures.When(key)))
	case problem.RetrySlow:
		r.queue.Forget(key)
		r.queue.AddAfter(key, queue.Jitter(problem.SlowRetry))
	case problem.RetryBackoff:
		r.queue.AddRateLimited(key)
	case problem.RetrySoon:
		r.queue.AddAfter(key, min(r.failures.When(key), queue.Jitter(longestSoon)))
	case problem.RetryNow:
		r.queue.AddAfter(key, min(r.failures.When(key)/(queue.FirstRetry/freshDataLag), queue.Jitter(longestSoon))) // newer data may be long in coming
	}
	r.paceDenied(key, result)
	if result.After > 0 {
		r.queue.AddAfter(key, result.After) // the earlier one counts
	}
	if result.Again {
		r.queue.Add(key) // the queue holds it until this pass is done
	}
}

// paceDenied puts a parent back that lacks a permission. Where one lacks it no more, others are put back that wait for the same.
func (r *Reconciler) paceDenied(key queue.Key, result Result) {
	var woken []queue.Key
	switch {
	case result.Denial != (problem.Denial{}):
		var after time.Duration
		after, woken = r.waiting.Add(key, result.Denial)
		r.queue.AddAfter(key, after)
	case result.Outcome == measure.Skipped, result.Outcome == measure.Panicked:
	default:
		woken = r.waiting.Done(key)
	}
	for _, other := range woken {
		r.queue.Add(other)
	}
}

// guarded is Reconcile, with a panic turned into an error: it hurts this key alone.
func (r *Reconciler) guarded(ctx context.Context, key queue.Key) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			klog.FromContext(ctx).Error(nil, "panic in a pass", "controller", key.Controller, "parent", key.Parent.String(), "stack", string(debug.Stack()))
			r.reportPanic(key)
			err = ErrPanic
		}
	}()
	return r.Reconcile(ctx, key), nil
}

// reportPanic tells the user of a panic, once.
func (r *Reconciler) reportPanic(key queue.Key) {
	defer func() { _ = recover() }() // it may be this very parent that cannot be read
	const text = "a defect in templater has ended the work on this object; it is tried again later: please report it with the stack in the operator's log"
	c, leave := r.controllers.Enter(key.Controller)
	defer leave()
	if c == nil {
		return
	}
	if parent := c.Parent(key.Parent); parent != nil && r.events.Fresh(key, v1.ReasonInternalError+text) {
		r.events.Announce(c.As, key, request.Announcement{About: parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonInternalError, Message: text})
	}
}

// Busy returns the passes that are under way.
func (r *Reconciler) Busy() []workers.Work { return r.tracker.Busy() }
