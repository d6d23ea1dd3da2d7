package workers

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// longTurn is how long work may keep a processor without a pause. Then the next one gets it, too.
	longTurn = 100 * time.Millisecond
	// advance is how much computing time they have in advance who have not computed for a while.
	advance = 20 * time.Millisecond
)

// Processors are shared by all work that computes; work that waits for an answer has none. Whoever waits
// for one gets it before all who have computed longer, tenants first and then the controllers of a tenant. Who comes
// back after a while is level with the others, but for a small advance: nobody saves up. This is fair
// queueing by start times. The order is looked at in each pause of the work that computes, which is about each
// millisecond. One processor is left to the rest of the operator, so that watches and answers are read meanwhile. Who has
// computed less than all who do now borrows it, so as not to wait even for a pause. It is safe for concurrent use.
type Processors struct {
	clock   clock.PassiveClock
	tenants *queue.Tenants

	mu          sync.Mutex
	free        int // negative while one is borrowed
	least       int // of free
	computing   []*turn
	waiting     []*turn // first come first
	all         usage   // of all tenants
	byTenant    map[string]*usage
	controllers map[string]*usage
}

// usage is the computing time of a controller, of a tenant, or of all. The lock of processors guards it.
type usage struct {
	name  string
	of    *usage        // nil for that of all
	used  time.Duration // comparable with others that are of the same
	begun time.Duration // the most that one had used of those that are of this one, when its turn began
	parts int           // those that are of this one
	turns int           // of its that compute or wait
}

// turn is what one worker has of the processors.
type turn struct {
	processors *Processors
	usage      *usage // of its controller; nil = nothing is under way
	computes   bool
	since      time.Time     // when it began to, or was charged last
	given      chan struct{} // tells that it computes
}

// NewProcessors returns those of this process, of which nobody has any.
func NewProcessors(clock clock.PassiveClock, tenants *queue.Tenants) *Processors {
	number := runtime.GOMAXPROCS(0)
	free := max(1, number-1)
	return &Processors{
		clock: clock, tenants: tenants, free: free, least: free - number,
		byTenant: map[string]*usage{}, controllers: map[string]*usage{},
	}
}

func (p *Processors) turn() *turn { return &turn{processors: p, given: make(chan struct{}, 1)} }

// begin returns when the turn has a processor to work for a controller.
func (t *turn) begin(controller string) {
	p := t.processors
	p.mu.Lock()
	t.usage = p.usage(controller)
	p.mu.Unlock()
	t.take()
}

// end gives the processor back, because the work is done.
func (t *turn) end() {
	t.put()
	t.processors.mu.Lock()
	defer t.processors.mu.Unlock()
	t.usage = nil
}

// take returns when the turn has a processor.
func (t *turn) take() {
	p := t.processors
	p.mu.Lock()
	if t.usage == nil || t.computes {
		p.mu.Unlock()
		return
	}
	t.usage.come()
	p.waiting = append(p.waiting, t)
	p.give()
	p.mu.Unlock()
	<-t.given
}

// put gives the processor back, if there is one.
func (t *turn) put() {
	p := t.processors
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.computes {
		t.leave()
	}
}

// pause lets others compute whose turn it is.
func (t *turn) pause() {
	p := t.processors
	p.mu.Lock()
	if t.usage == nil {
		p.mu.Unlock()
		return
	}
	if !t.computes { // it was taken away
		p.mu.Unlock()
		t.take()
		return
	}
	t.charge()
	best := p.best()
	if (best < 0 || !p.waiting[best].usage.before(t.usage)) && (p.free >= 0 || !p.outdone(t)) {
		t.usage.starts()
		p.mu.Unlock()
		return
	}
	t.stop()
	p.waiting = append(p.waiting, t)
	p.give()
	p.mu.Unlock()
	<-t.given
}

// reclaim gives the processor to others where they wait and the turn has kept it for long, as a compilation or
// a request may do that nobody knows of.
func (t *turn) reclaim() {
	p := t.processors
	p.mu.Lock()
	defer p.mu.Unlock()
	if !t.computes || len(p.waiting) == 0 || p.clock.Since(t.since) < longTurn {
		return
	}
	t.leave()
}

// leave has others compute in place of the turn; the lock is held.
func (t *turn) leave() {
	t.stop()
	t.usage.goes()
	t.processors.give()
}

// charge counts the time since the last time; the lock is held.
func (t *turn) charge() {
	now := t.processors.clock.Now()
	for u, took := t.usage, now.Sub(t.since); u != nil; u = u.of {
		u.used += took
	}
	t.since = now
}

// stop ends the computing; the lock is held.
func (t *turn) stop() {
	t.charge()
	t.computes = false
	p := t.processors
	p.computing = slices.DeleteFunc(p.computing, func(other *turn) bool { return other == t })
	p.free++
}

// give hands out what is free; the lock is held.
func (p *Processors) give() {
	for {
		at := p.best()
		if at < 0 {
			return
		}
		t := p.waiting[at]
		if p.free <= 0 && (p.free <= p.least || !p.outdoes(t)) {
			return
		}
		p.waiting = slices.Delete(p.waiting, at, at+1)
		p.free--
		p.computing = append(p.computing, t)
		t.usage.starts()
		t.computes, t.since = true, p.clock.Now()
		t.given <- struct{}{}
	}
}

// outdoes reports whether a turn that waits is before all that compute; the lock is held.
func (p *Processors) outdoes(t *turn) bool {
	return !slices.ContainsFunc(p.computing, func(other *turn) bool { return !t.usage.before(other.usage) })
}

// outdone reports whether one that computes is before a turn; the lock is held.
func (p *Processors) outdone(t *turn) bool {
	return slices.ContainsFunc(p.computing, func(other *turn) bool { return other.usage.before(t.usage) })
}

// best returns whose turn it is of those that wait, -1 where nobody does; the lock is held.
func (p *Processors) best() int {
	best := -1
	for i, t := range p.waiting {
		if best < 0 || t.usage.before(p.waiting[best].usage) {
			best = i
		}
	}
	return best
}

// usage returns that of a controller; the lock is held.
func (p *Processors) usage(controller string) *usage {
	tenant, known := p.tenants.Of(controller)
	if !known { // it is new, or gone: nothing is remembered of it
		return &usage{name: controller, of: &usage{name: tenant, of: &p.all}}
	}
	u := p.controllers[controller]
	if u != nil && (u.of.name == tenant || u.turns > 0) {
		return u
	}
	if u != nil { // it has another account
		p.forget(u)
	}
	of := p.byTenant[tenant]
	if of == nil {
		of = &usage{name: tenant, of: &p.all}
		p.byTenant[tenant] = of
	}
	of.parts++
	u = &usage{name: controller, of: of}
	p.controllers[controller] = u
	return u
}

// forget drops a usage; the lock is held.
func (p *Processors) forget(u *usage) {
	delete(p.controllers, u.name)
	if u.of.parts--; u.of.parts == 0 {
		delete(p.byTenant, u.of.name)
	}
}

// ForgetController forgets about a controller that is gone.
func (p *Processors) ForgetController(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.controllers[name]; u != nil {
		p.forget(u)
	}
}

// before reports whether it is the turn of u rather than of another one.
func (u *usage) before(other *usage) bool {
	if u.of != other.of {
		return u.of.used < other.of.used
	}
	return u.used < other.used
}

// come says that one more computes, or waits to.
func (u *usage) come() {
	for ; u.of != nil; u = u.of {
		if u.turns == 0 {
			u.used = max(u.used, u.of.begun-advance)
		}
		u.turns++
	}
}

// starts says that a turn begins, or goes on.
func (u *usage) starts() {
	for ; u.of != nil; u = u.of {
		u.of.begun = max(u.of.begun, u.used)
	}
}

// goes says that one less does.
func (u *usage) goes() {
	for ; u.of != nil; u = u.of {
		u.turns--
	}
}
