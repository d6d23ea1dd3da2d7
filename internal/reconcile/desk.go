package reconcile

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// Work is what a worker has under way.
type Work struct {
	// Key is the parent that the pass is over. It has no parent where the
	// TemplateController itself is synced.
	Key queue.Key
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

// desks are those of all workers. It is safe for concurrent use.
type desks struct {
	clock      clock.PassiveClock
	processors *processors
	mu         sync.Mutex
	all        []*desk
	slow       map[string]time.Time // when work for a controller last took long
}

func newDesks(clock clock.PassiveClock, processors *processors) *desks {
	return &desks{clock: clock, processors: processors, slow: map[string]time.Time{}}
}

// seat gives a worker a desk, and returns the context that it works with.
func (d *desks) seat(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	own := &desk{clock: d.clock, cancel: cancel, over: ctx.Err, turn: d.processors.turn()}
	own.pausing = own.pause
	d.mu.Lock()
	d.all = append(d.all, own)
	d.mu.Unlock()
	return kube.WithObserver(context.WithValue(ctx, deskKey{}, own), own)
}

// leave takes a desk away.
func (d *desks) leave(own *desk) {
	own.cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = slices.DeleteFunc(d.all, func(each *desk) bool { return each == own })
}

// busy returns what the workers have under way.
func (d *desks) busy() []Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Work
	for _, each := range d.all {
		each.mu.Lock()
		if each.busy && !each.waiting && !each.queued {
			out = append(out, each.work)
		}
		each.mu.Unlock()
	}
	return out
}

// relieve tells the workers that wait for an answer for long that others have their places now, and
// returns what these work on.
func (d *desks) relieve() []queue.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	var relieved []queue.Key
	now := d.clock.Now()
	for controller, at := range d.slow {
		if now.Sub(at) > slowTime {
			delete(d.slow, controller)
		}
	}
	for _, each := range d.all {
		limit := patience
		each.mu.Lock()
		controller := each.work.Key.Controller
		if _, slow := d.slow[controller]; slow {
			limit = leastPatience
		}
		if each.busy && !each.queued && !each.relieved && now.Sub(each.work.Since) >= limit {
			each.relieved = true
			d.slow[controller] = now
			relieved = append(relieved, each.work.Key)
		}
		each.mu.Unlock()
	}
	return relieved
}

// reclaim takes processors back that work keeps for long without a pause.
func (d *desks) reclaim() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, each := range d.all {
		each.turn.reclaim()
	}
}

// cut ends the requests of all work that is under way for a controller.
func (d *desks) cut(controller string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, each := range d.all {
		each.mu.Lock()
		if each.work.Key.Controller == controller {
			each.cancel()
		}
		each.mu.Unlock()
	}
}

// deskKey is for the value of the context that a worker works with.
type deskKey struct{}

// deskOf returns the desk of the worker that works with the context. It is nil where there is
// none, as in tests; then nobody asks.
func deskOf(ctx context.Context) *desk {
	d, _ := ctx.Value(deskKey{}).(*desk)
	return d
}

// desk is where a worker says what it has under way. It is safe for concurrent use, and
// allocates nothing.
type desk struct {
	clock    clock.PassiveClock
	cancel   context.CancelFunc // of what the worker works with
	over     func() error       // why that has ended
	pausing  func() error       // pause, made once
	turn     *turn
	mu       sync.Mutex
	busy     bool
	waiting  bool // for others to end their work first
	queued   bool // for a processor
	relieved bool // another worker has the place
	work     Work
}

func (d *desk) begin(key queue.Key) {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.busy, d.queued, d.work = true, true, Work{Key: key}
	d.mu.Unlock()
	d.turn.begin(key.Controller)
	d.resume()
}

// resume says that the work goes on.
func (d *desk) resume() {
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting, d.queued, d.work.Since = false, false, now
}

// end says that nothing is under way any more.
func (d *desk) end() {
	if d == nil {
		return
	}
	d.turn.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy, d.work = false, Work{}
}

// pause lets others compute whose turn it is. The error says that the work is to end.
func (d *desk) pause() error {
	d.turn.pause()
	return d.over()
}

// pauses is pause as a function for those who compute for long, nil where nobody else does.
func (d *desk) pauses() func() error {
	if d == nil {
		return nil
	}
	return d.pausing
}

// wait says that others have to end their work first, until the function is called that it returns.
func (d *desk) wait() func() {
	if d == nil {
		return func() {}
	}
	d.turn.put()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = true
	return d.comeBack
}

// takeBack gives the place back that another worker has, and reports whether one had it.
func (d *desk) takeBack() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	relieved := d.relieved
	d.relieved = false
	return relieved
}

// Asked gives the processor back for the time of a request.
func (d *desk) Asked() { d.turn.put() }

// Answered takes note of the end of a request.
func (d *desk) Answered() { d.comeBack() }

// comeBack returns when there is a processor again.
func (d *desk) comeBack() {
	d.mu.Lock()
	d.queued = true
	d.mu.Unlock()
	d.turn.take()
	d.resume()
}
