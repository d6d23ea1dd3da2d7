package queue

import (
	"slices"
	"sync"
)

// places are a number of places that tenants share. One tenant has at most half of them, and at least one. Tenants that wait are
// served in turn, and the work of one tenant in the order in which it came. It is safe for concurrent use.
type places struct {
	most, share int // of all, and of one tenant

	mu      sync.Mutex
	all     int                        // that are taken
	taken   map[string]int             // by tenant; none is 0
	waiting map[string][]chan struct{} // by tenant; none is empty
	order   []string                   // of the tenants in waiting
}

func newPlaces(most int) *places {
	return &places{most: max(1, most), share: max(1, most/2), taken: map[string]int{}, waiting: map[string][]chan struct{}{}}
}

// take takes a place for a tenant. If there is none, it returns a channel that is closed once there is.
func (p *places) take(tenant string) <-chan struct{} { return p.takeAt(tenant, false) }

// retake is take for work that gave its place to another tenant: it continues before other work of its own tenant begins.
func (p *places) retake(tenant string) <-chan struct{} { return p.takeAt(tenant, true) }

func (p *places) takeAt(tenant string, first bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, others := p.waiting[tenant]; !others {
		if p.free(tenant) {
			p.give(tenant)
			return nil
		}
		p.order = append(p.order, tenant)
	}
	given := make(chan struct{})
	at := len(p.waiting[tenant])
	if first {
		at = 0
	}
	p.waiting[tenant] = slices.Insert(p.waiting[tenant], at, given)
	return given
}

// put gives a place of a tenant back.
func (p *places) put(tenant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.taken[tenant]--; p.taken[tenant] == 0 {
		delete(p.taken, tenant)
	}
	p.serve()
}

// withdraw ends a wait. It reports false where that has just ended with a place.
func (p *places) withdraw(tenant string, given <-chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.waiting[tenant], func(each chan struct{}) bool { return each == given })
	if at >= 0 {
		p.remove(tenant, at)
	}
	return at >= 0
}

// wanted reports whether another tenant waits, and could have a place of this one.
func (p *places) wanted(tenant string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.order, func(other string) bool { return other != tenant && p.taken[other] < p.share })
}

// number returns how many places are taken.
func (p *places) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// queued returns how many wait for one.
func (p *places) queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.waiting {
		n += len(line)
	}
	return n
}

// free reports whether a tenant may take one more; the lock is held.
func (p *places) free(tenant string) bool { return p.all < p.most && p.taken[tenant] < p.share }

func (p *places) give(tenant string) {
	p.all++
	p.taken[tenant]++
}

// serve gives free places to waiting work; the lock is held.
func (p *places) serve() {
	for {
		at := slices.IndexFunc(p.order, p.free)
		if at < 0 {
			return
		}
		tenant := p.order[at]
		p.give(tenant)
		close(p.waiting[tenant][0])
		p.order = append(slices.Delete(p.order, at, at+1), tenant)
		p.remove(tenant, 0)
	}
}

// remove ends the wait at a place in the line of a tenant; the lock is held.
func (p *places) remove(tenant string, at int) {
	p.waiting[tenant] = slices.Delete(p.waiting[tenant], at, at+1)
	if len(p.waiting[tenant]) == 0 {
		delete(p.waiting, tenant)
		p.order = slices.DeleteFunc(p.order, func(each string) bool { return each == tenant })
	}
}
