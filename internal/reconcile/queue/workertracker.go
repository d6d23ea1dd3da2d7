package queue

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube/request"
)

// WorkerTracker knows what all workers have under way. It is safe for concurrent use.
type WorkerTracker struct {
	clock      clock.PassiveClock
	processors *Processors
	credit     *Credit // nil = requests cost nothing
	mu         sync.Mutex
	all        []*Worker
	slow       map[string]time.Time // when work for a controller last took long
}

// NewWorkerTracker returns a tracker without workers, whose requests are charged to the credit, which may be nil.
func NewWorkerTracker(clock clock.PassiveClock, processors *Processors, credit *Credit) *WorkerTracker {
	return &WorkerTracker{clock: clock, processors: processors, credit: credit, slow: map[string]time.Time{}}
}

// Join adds a worker, and returns the context that it works with.
func (t *WorkerTracker) Join(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	own := &Worker{clock: t.clock, credit: t.credit, cancel: cancel, over: ctx.Err, turn: &turn{processors: t.processors}}
	own.pausing = own.pause
	t.mu.Lock()
	t.all = append(t.all, own)
	t.mu.Unlock()
	return request.WithObserver(context.WithValue(ctx, workerKey{}, own), own)
}

// leave takes a worker away.
func (t *WorkerTracker) leave(own *Worker) {
	own.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(each *Worker) bool { return each == own })
}

// Workers returns how many there are.
func (t *WorkerTracker) Workers() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.all)
}

// Busy returns what the workers have under way.
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

// relieve marks the workers that wait long for a response, whose places others get, and
// returns what they work on.
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
			limit = leastPatience
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

// Cut ends the requests of all work that is under way for a controller.
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
