package queue

import (
	"context"
	"runtime"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Work is what a worker has under way.
type Work struct {
	// Key is the parent that is reconciled. It has no parent if the
	// TemplateController itself is synced.
	Key Key
	// Since is when the work began, or when its last request was answered.
	Since time.Time
}

// String is the work as logs and health checks show it.
func (w Work) String() string {
	if w.Key.Parent.Name == "" {
		return "sync of TemplateController " + w.Key.Controller
	}
	return "pass over " + w.Key.Parent.String() + " for TemplateController " + w.Key.Controller
}

// workerKey is for the value of the context that a worker works with.
type workerKey struct{}

// WorkerOf returns the worker that works with the context. It is nil without a worker, as in tests.
func WorkerOf(ctx context.Context) *Worker {
	w, _ := ctx.Value(workerKey{}).(*Worker)
	return w
}

// Worker is a worker of a Pool with the work that it has in progress. It is safe for concurrent use, and allocates
// nothing while it works.
type Worker struct {
	clock    clock.PassiveClock
	credit   *Credit            // nil = requests cost nothing
	cancel   context.CancelFunc // of what the worker works with
	over     func() error       // why that has ended
	pausing  func() error       // pause, made once
	turn     *turn
	handOver func()        // gives the place to another worker; nil = this one keeps it while it computes
	asked    time.Time     // when the last request began; as those that follow it is for the worker itself
	charged  string        // the controller that requests are made for
	costs    time.Duration // of the requests of the work
	progress
}

// progress is what others see of a worker.
type progress struct {
	mu       sync.Mutex
	busy     bool
	waiting  bool // for others to end their work first
	queued   bool // for a processor or memory
	relieved bool // another worker has the place
	work     Work
}

// Begin says that work for a key begins.
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

// Long says that the work computes for long from now on. It returns when there is a processor for it.
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

// End says that nothing is under way any more.
func (w *Worker) End() {
	if w == nil {
		return
	}
	w.turn.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy, w.work = false, Work{}
}

// pause lets others compute whose turn it is. The error says that the work is to end.
func (w *Worker) pause() error {
	w.turn.pause()
	runtime.Gosched() // where there is one processor, what is short would wait for up to 10 ms
	return w.over()
}

// Pauses is pause as a function for long computations, nil if no other work shares the processors.
func (w *Worker) Pauses() func() error {
	if w == nil {
		return nil
	}
	return w.pausing
}

// Wait says that others have to end their work first, until the function is called that it returns.
func (w *Worker) Wait() func() { return w.interrupt(func() { w.waiting = true }) }

// queue says that the work waits for what others of its kind have, until the function is called that it returns. It keeps its worker.
func (w *Worker) queue() func() { return w.interrupt(func() { w.queued = true }) }

// interrupt gives the processor back, and records why with the lock held. The function that it returns resumes the work.
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

// takeBack gives the place back that another worker has, and reports whether one had it.
func (w *Worker) takeBack() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	relieved := w.relieved
	w.relieved = false
	return relieved
}

// giveUp gives the place to another worker, and reports whether this one had it.
func (w *Worker) giveUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	had := !w.relieved
	w.relieved = true
	return had
}

// Asked gives the processor back for the time of a request.
func (w *Worker) Asked() {
	w.asked = w.clock.Now()
	w.turn.put()
}

// largeAnswer is for how many bytes of its answer a request costs what it has taken once more.
const largeAnswer = 32 << 10

// Cost is what a request is charged with that took so long and was answered by so many bytes. What takes longer than Patience waits
// for somebody else than the API server.
func Cost(took time.Duration, size int) time.Duration {
	return time.Duration(1+size/largeAnswer) * min(took, Patience)
}

// Answered takes note of the end of a request, and charges for it.
func (w *Worker) Answered(size int) {
	if w.credit != nil {
		cost := Cost(w.clock.Since(w.asked), size)
		w.credit.Charge(w.charged, cost)
		w.costs += cost
	}
	w.comeBack()
}

// longestRest bounds Rest.
const longestRest = 10 * time.Second

// Rest lets the API server rest after the work, for as long as its requests have cost, where the tenant is over its
// credit. It returns at once when ctx ends.
func (w *Worker) Rest(ctx context.Context) {
	if w == nil || w.costs == 0 || !w.credit.Over(w.charged) {
		return
	}
	timer := time.NewTimer(min(w.costs, longestRest))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// comeBack returns when there is a processor again.
func (w *Worker) comeBack() {
	w.mu.Lock()
	w.queued = true
	w.mu.Unlock()
	w.turn.take()
	w.resume()
}
