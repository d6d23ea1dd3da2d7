package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/request"
)

// WorkerTracker tracks the work in progress of all workers. It is safe for concurrent use.
type WorkerTracker struct {
	clock      clock.PassiveClock
	processors *Processors
	credit     *Credit // nil = requests are free
	mu         sync.Mutex
	all        []*Worker
	slow       map[string]time.Time // by controller: when its work last hung
}

// NewWorkerTracker returns an empty tracker. Requests are charged to credit, which may be nil.
func NewWorkerTracker(clock clock.PassiveClock, processors *Processors, credit *Credit) *WorkerTracker {
	return &WorkerTracker{clock: clock, processors: processors, credit: credit, slow: map[string]time.Time{}}
}

// Join adds a worker, and returns its context.
func (t *WorkerTracker) Join(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	own := &Worker{clock: t.clock, credit: t.credit, cancel: cancel, over: ctx.Err, turn: &turn{processors: t.processors, stop: ctx.Done()}}
	own.pausing = own.pause
	t.mu.Lock()
	t.all = append(t.all, own)
	t.mu.Unlock()
	return request.WithObserver(context.WithValue(ctx, workerKey{}, own), own)
}

// Begin begins work that computes for long and belongs to no Pool. It blocks until a processor is free or ctx is done,
// and returns the context for the work. The caller must call end after the work.
func (t *WorkerTracker) Begin(ctx context.Context, key Key) (work context.Context, end func()) {
	work = t.Join(ctx)
	own := WorkerOf(work)
	own.Begin(key)
	own.Long()
	return work, func() {
		own.End()
		t.leave(own)
	}
}

// leave removes a worker, and cancels its context.
func (t *WorkerTracker) leave(own *Worker) {
	own.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(each *Worker) bool { return each == own })
}

// Workers returns the number of workers.
func (t *WorkerTracker) Workers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// Busy returns the work in progress, except work that waits for other work, a processor or memory.
func (t *WorkerTracker) Busy() []Work {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Work
	for _, each := range t.all {
		each.mu.Lock()
		if each.busy && !each.waiting && !each.queued {
			out = append(out, each.work)
		}
		each.mu.Unlock()
	}
	return out
}

// relieve marks the workers that hang as relieved, so that others get their slots, and returns their keys.
func (t *WorkerTracker) relieve() []Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	var relieved []Key
	now := t.clock.Now()
	for controller, at := range t.slow {
		if now.Sub(at) > slowTime {
			delete(t.slow, controller)
		}
	}
	for _, each := range t.all {
		limit := Patience
		each.mu.Lock()
		controller := each.work.Key.Controller
		if _, slow := t.slow[controller]; slow {
			limit = minPatience
		}
		if each.busy && !each.queued && !each.relieved && now.Sub(each.work.Since) >= limit {
			each.relieved = true
			t.slow[controller] = now
			relieved = append(relieved, each.work.Key)
		}
		each.mu.Unlock()
	}
	return relieved
}

// Cut cancels all requests in progress of a controller.
func (t *WorkerTracker) Cut(controller string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, each := range t.all {
		each.mu.Lock()
		if each.work.Key.Controller == controller {
			each.cancel()
		}
		each.mu.Unlock()
	}
}
