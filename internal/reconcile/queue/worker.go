package queue

import (
	"context"
	"runtime"
	"sync"
	"time"

	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
)

// Work is the work in progress of a worker.
type Work struct {
	// Key is the parent that is reconciled. Its Parent is empty if the TemplateController itself is synced.
	Key Key
	// Since is when the work began, or when its last request was answered.
	Since time.Time
}

// String returns the work for logs and health checks.
func (w Work) String() string {
	if w.Key.Parent.Name == "" {
		return "sync of " + v1.Describe(w.Key.Controller)
	}
	return "reconciliation of " + w.Key.Parent.String() + " for " + v1.Describe(w.Key.Controller)
}

// workerKey is the context key of the worker.
type workerKey struct{}

// WorkerOf returns the worker of the context, or nil if there is none, for example in tests.
func WorkerOf(ctx context.Context) *Worker {
	w, _ := ctx.Value(workerKey{}).(*Worker)
	return w
}

// WithoutWorker returns a context without a worker, which observes no requests, for work that is not that of its key.
func WithoutWorker(ctx context.Context) context.Context {
	return request.WithObserver(context.WithValue(ctx, workerKey{}, (*Worker)(nil)), nil)
}

// Worker is a worker of a Pool with its work in progress. Begin, End and the methods for requests belong to the
// goroutine of the worker; other goroutines only use progress, under its lock, and cancel. It does not allocate while it works.
type Worker struct {
	clock    clock.PassiveClock
	credit   *Credit            // nil = requests are free
	cancel   context.CancelFunc // cancels the worker's context
	over     func() error       // returns why the context is done, or nil
	pausing  func() error       // the pause method, bound once
	turn     *turn
	handOver func()        // gives the slot to another worker; nil = this one keeps it while it computes
	asked    time.Time     // start of the last request; like the fields below, only for the worker itself
	charged  string        // the controller on whose behalf requests are made
	costs    time.Duration // cost of the requests of the current work
	progress
}

// progress is the state that other goroutines see.
type progress struct {
	mu       sync.Mutex
	busy     bool
	waiting  bool // for other work to end
	queued   bool // for a processor or memory
	relieved bool // another worker has the slot
	work     Work
}

// Begin marks the worker as busy with a key.
func (w *Worker) Begin(key Key) {
	if w == nil {
		return
	}
	w.charged, w.costs = key.Controller, 0
	w.mu.Lock()
	w.busy, w.work = true, Work{Key: key}
	w.mu.Unlock()
	w.resume()
}

// Long marks the work as computing for long, and blocks until a processor is free.
func (w *Worker) Long() {
	if w != nil && !w.turn.long {
		if w.handOver != nil {
			w.handOver()
		}
		w.turn.begin(w.charged)
		w.comeBack()
	}
}

// resume records that the work continues.
func (w *Worker) resume() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting, w.queued, w.work.Since = false, false, now
}

// End marks the worker as idle.
func (w *Worker) End() {
	if w == nil {
		return
	}
	w.turn.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy, w.work = false, Work{}
}

// pause yields the processor if another tenant waits for it. It returns an error if the work must stop.
func (w *Worker) pause() error {
	w.turn.pause()
	runtime.Gosched() // on a single processor, short work would otherwise wait for up to 10 ms
	return w.over()
}

// Pauses returns pause, which long computations call from time to time, or nil without a worker.
func (w *Worker) Pauses() func() error {
	if w == nil {
		return nil
	}
	return w.pausing
}

// Wait marks the worker as waiting for other work to end, until the returned function is called.
func (w *Worker) Wait() func() { return w.interrupt(func() { w.waiting = true }) }

// queue marks the worker as queued for a processor or memory, until the returned function is called. It keeps its slot.
func (w *Worker) queue() func() { return w.interrupt(func() { w.queued = true }) }

// interrupt releases the processor, and calls note with the lock held. The returned function resumes the work.
func (w *Worker) interrupt(note func()) func() {
	if w == nil {
		return func() {}
	}
	w.turn.put()
	w.mu.Lock()
	defer w.mu.Unlock()
	note()
	return w.comeBack
}

// takeBack clears relieved, and reports whether another worker had the slot.
func (w *Worker) takeBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	relieved := w.relieved
	w.relieved = false
	return relieved
}

// giveUp sets relieved, and reports whether the worker still had its slot.
func (w *Worker) giveUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	had := !w.relieved
	w.relieved = true
	return had
}

// Asked releases the processor for the duration of a request.
func (w *Worker) Asked() {
	w.asked = w.clock.Now()
	w.turn.put()
}

// largeAnswer is the response size in bytes that adds the duration of a request once more to its cost.
const largeAnswer = 32 << 10

// Cost returns the charge for a request, from its duration and response size in bytes. Time beyond Patience is not
// charged: the API server is then waiting for something else, such as a webhook.
func Cost(took time.Duration, size int) time.Duration {
	return time.Duration(1+size/largeAnswer) * min(took, Patience)
}

// Answered records the end of a request, and charges for it.
func (w *Worker) Answered(size int) {
	if w.credit != nil {
		cost := Cost(w.clock.Since(w.asked), size)
		w.credit.Charge(w.charged, cost)
		w.costs += cost
	}
	w.comeBack()
}

// maxRest limits Rest.
const maxRest = 10 * time.Second

// Rest sleeps for the cost of the requests of the last work if the tenant has exhausted its credit, to relieve the API
// server. It returns immediately when ctx is done.
func (w *Worker) Rest(ctx context.Context) {
	if w == nil || w.costs == 0 || !w.credit.Over(w.charged) {
		return
	}
	timer := time.NewTimer(min(w.costs, maxRest))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// comeBack blocks until the worker has a processor again, if it needs one.
func (w *Worker) comeBack() {
	w.mu.Lock()
	w.queued = true
	w.mu.Unlock()
	w.turn.take()
	w.resume()
}
