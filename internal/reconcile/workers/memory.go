package workers

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/render/budget"
)

const (
	// memoryShare is the part of GOMEMLIMIT that passes may hold together, one in so many. The caches take the rest.
	memoryShare = 3
	// assumedLimit is the limit where none is set, in bytes.
	assumedLimit = 2 << 30
	// growth is the least that a pass asks for, in bytes, so that it asks seldom.
	growth = 1 << 20
)

// Memory is the memory that the passes under way hold together, besides budget.FreeBytes for each. One that needs
// more than there is waits until others end. It is safe for concurrent use.
//
// A pass that waits may hold much already, so all of them could wait for each other. Therefore there is room of its own
// for one pass, the largest there is: the favoured, one that waits, gets what it asks for. When it has made its objects, and
// there is room for these among those of the others, it is the turn of the next one. Those who wait are served in
// turn by tenant. No tenant gets more than half of what all may hold, so that requests of one
// that hang do not keep the others waiting.
type Memory struct {
	size    int // what all may hold but for the favoured, in bytes
	tenants *queue.Tenants

	mu       sync.Mutex
	used     int
	by       map[string]int       // used, by tenant; none is 0
	waiting  map[string][]*waiter // by tenant, in order; none is empty
	order    []string             // of the tenants in waiting
	favoured *Reservation         // nil = nobody
	settled  bool                 // whether the favoured has made its objects
}

// waiter is a pass that waits.
type waiter struct {
	hold  *Reservation
	bytes int
	given chan struct{} // closed when it has them
}

// NewMemory returns the pool of a process with that limit, which is math.MaxInt64 where there is none.
func NewMemory(limit int64, tenants *queue.Tenants) *Memory {
	if limit == math.MaxInt64 {
		limit = assumedLimit
	}
	return &Memory{size: max(0, int(limit/memoryShare)-budget.MaxBytes), tenants: tenants, by: map[string]int{}, waiting: map[string][]*waiter{}}
}

// State returns how many bytes the passes under way hold, and how many of these passes wait for more.
func (p *Memory) State() (used, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.waiting {
		waiting += len(all)
	}
	return p.used, waiting
}

// Reservation is what one pass holds of a pool, which is nothing for an ordinary one. It is the Memory of a
// budget.Pass. It is used by one goroutine.
type Reservation struct {
	pool       *Memory
	controller string
	tenant     string          // known once it has asked the pool
	stop       <-chan struct{} // closed when the pass is to end
	worker     *Worker
	bytes      int // the lock of the pool guards it
	spare      int // of these, what was not asked for
}

// Open readies a hold for a pass with that context; close is to be called at its end.
func (h *Reservation) Open(ctx context.Context, pool *Memory, controller string) {
	*h = Reservation{pool: pool, controller: controller, stop: ctx.Done(), worker: Of(ctx)}
}

// Grow gives the pass more memory. It waits until there is room, and returns an error when the pass is to end.
func (h *Reservation) Grow(bytes int) error {
	select {
	case <-h.stop:
		return context.Canceled
	default:
	}
	if bytes <= h.spare {
		h.spare -= bytes
		return nil
	}
	more := max(bytes-h.spare, growth)
	ask := h.pool.ask(h, more)
	if ask != nil {
		defer h.worker.Wait()()
		select {
		case <-ask.given:
		case <-h.stop:
			h.pool.withdraw(ask)
			return context.Canceled
		}
	}
	h.spare += more - bytes
	return nil
}

// Settle gives back all but so many bytes: the pass has made its objects, and holds no more than these until it asks again.
func (h *Reservation) Settle(bytes int) {
	if h.bytes > 0 { // nobody else writes it now
		h.pool.giveBack(h, max(0, h.bytes-bytes))
		h.spare = 0
	}
}

// Close gives all back.
func (h *Reservation) Close() {
	if h.bytes > 0 {
		h.pool.giveBack(h, h.bytes)
	}
}

// ask takes bytes for h, or returns what to wait for.
func (p *Memory) ask(h *Reservation, bytes int) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.tenant == "" { // it stays, also when the controller gets another account meanwhile
		h.tenant = p.tenants.Name(h.controller)
	}
	if p.favoured == h {
		p.settled = false
	}
	if p.favoured == h || len(p.order) == 0 && p.fits(h.tenant, bytes) {
		p.take(h, bytes)
		return nil
	}
	ask := &waiter{hold: h, bytes: bytes, given: make(chan struct{})}
	if _, ok := p.waiting[h.tenant]; !ok {
		p.order = append(p.order, h.tenant)
	}
	p.waiting[h.tenant] = append(p.waiting[h.tenant], ask)
	p.serve()
	return ask
}

// fits reports whether a tenant may have so many bytes more; the lock is held.
func (p *Memory) fits(tenant string, bytes int) bool {
	used, own := p.used+bytes, p.by[tenant]+bytes
	if f := p.favoured; f != nil {
		used -= f.bytes
		if f.tenant == tenant {
			own -= f.bytes
		}
	}
	return used <= p.size && own <= p.size/2
}

func (p *Memory) take(h *Reservation, bytes int) {
	h.bytes += bytes
	p.used += bytes
	p.by[h.tenant] += bytes
}

// serve gives those who wait what there is, and favours one of them where nobody is favoured; the lock is held.
func (p *Memory) serve() {
	for p.serveOne() {
	}
	if p.favoured == nil && len(p.order) > 0 {
		first := p.waiting[p.order[0]][0]
		p.favoured, p.settled = first.hold, false
		p.give(0)
	}
}

// serveOne gives the first tenant in turn that may have it what it waits for.
func (p *Memory) serveOne() bool {
	for i, tenant := range p.order {
		if p.fits(tenant, p.waiting[tenant][0].bytes) {
			p.give(i)
			return true
		}
	}
	return false
}

// give gives the tenant at a place in order what it waits for first, and puts it last.
func (p *Memory) give(at int) {
	tenant := p.order[at]
	ask := p.waiting[tenant][0]
	p.take(ask.hold, ask.bytes)
	close(ask.given)
	p.order = append(slices.Delete(p.order, at, at+1), tenant)
	p.remove(ask)
}

// remove takes an ask out of those that wait.
func (p *Memory) remove(ask *waiter) {
	tenant := ask.hold.tenant
	left := slices.DeleteFunc(p.waiting[tenant], func(each *waiter) bool { return each == ask })
	if len(left) > 0 {
		p.waiting[tenant] = left
		return
	}
	delete(p.waiting, tenant)
	p.order = slices.DeleteFunc(p.order, func(each string) bool { return each == tenant })
}

// withdraw ends an ask that nobody waits for any more.
func (p *Memory) withdraw(ask *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-ask.given: // just now: it is given back at the end of the pass
	default:
		p.remove(ask)
		p.serve()
	}
}

// giveBack takes bytes from h, which asks for no more for now. When it was favoured, another one is, as soon as what
// all hold has room without it.
func (p *Memory) giveBack(h *Reservation, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.bytes -= bytes
	p.used -= bytes
	if p.by[h.tenant] -= bytes; p.by[h.tenant] <= 0 {
		delete(p.by, h.tenant)
	}
	p.settled = p.settled || p.favoured == h
	if f := p.favoured; f != nil && (f.bytes == 0 || p.settled && p.used <= p.size && p.by[f.tenant] <= p.size/2) {
		p.favoured = nil
	}
	p.serve()
}
