package reconcile

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/kube"
)

// Work is what a worker has under way.
type Work struct {
	// Key is the parent that the pass is over. It has no parent where the
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

// desks are those of all workers. It is safe for concurrent use.
type desks struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	all   []*desk
}

// seat gives a worker a desk, and returns the context that it works with.
func (d *desks) seat(ctx context.Context) context.Context {
	own := &desk{clock: d.clock}
	d.mu.Lock()
	d.all = append(d.all, own)
	d.mu.Unlock()
	return kube.OnAnswer(context.WithValue(ctx, deskKey{}, own), own.answered)
}

// busy returns what the workers have under way.
func (d *desks) busy() []Work {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Work
	for _, each := range d.all {
		each.mu.Lock()
		if each.busy {
			out = append(out, each.work)
		}
		each.mu.Unlock()
	}
	return out
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
	clock clock.PassiveClock
	mu    sync.Mutex
	busy  bool
	work  Work
}

func (d *desk) begin(key Key) {
	if d == nil {
		return
	}
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy, d.work = true, Work{key, now}
}

// end says that nothing is under way any more, or that others have to end their work first.
func (d *desk) end() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy, d.work = false, Work{}
}

// answered takes note of the end of a request.
func (d *desk) answered() {
	now := d.clock.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.work.Since = now
}

// Busy returns the passes that are under way.
func (r *Reconciler) Busy() []Work { return r.desks.busy() }

// Busy returns the TemplateControllers that are being synced.
func (c *Controllers) Busy() []Work { return c.desks.busy() }

// Pending returns the TemplateControllers that were there at first and that were not yet
// looked at.
func (c *Controllers) Pending() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return sortedKeys(c.first)
}
