package queue

import (
	"slices"
	"sync"
	"time"
)

// fairSlots shares slots between tenants. A tenant has at most half of them, and at least one. The waiting tenant that
// has used slots for the shortest time is served first; ties are resolved round robin. The work of one tenant is served
// first in, first out. A tenant is not compensated for time in which it did not use its share. It is safe for
// concurrent use.
type fairSlots struct {
	most, share int // maximum number of slots: in total, and per tenant

	mu      sync.Mutex
	all     int                        // number of slots taken
	taken   map[string]int             // slots taken by tenant; no entry is 0
	waiting map[string][]chan struct{} // by tenant; no entry is empty
	order   []string                   // tenants in waiting, for round robin
	used    map[string]time.Duration   // by tenant that has or awaits a slot, or has used more than the least of these
}

func newFairSlots(most int) *fairSlots {
	return &fairSlots{most: max(1, most), share: max(1, most/2), taken: map[string]int{}, waiting: map[string][]chan struct{}{}, used: map[string]time.Duration{}}
}

// take takes a slot for a tenant. If none is free, it returns a channel that is closed once the slot is granted.
func (p *fairSlots) take(tenant string) <-chan struct{} { return p.takeAt(tenant, false) }

// retake is take for work that yielded its slot to another tenant: it resumes before other work of its tenant begins.
func (p *fairSlots) retake(tenant string) <-chan struct{} { return p.takeAt(tenant, true) }

func (p *fairSlots) takeAt(tenant string, first bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, others := p.waiting[tenant]; !others {
		p.begin(tenant)
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

// begin raises the used time of a tenant without slots to the least of the other tenants. The caller holds the lock.
func (p *fairSlots) begin(tenant string) {
	if p.taken[tenant] > 0 {
		return
	}
	least, _ := p.least()
	p.used[tenant] = max(p.used[tenant], least)
}

// least returns the least used time of the tenants that have or await a slot. found is false if there are none. The
// caller holds the lock.
func (p *fairSlots) least() (least time.Duration, found bool) {
	for tenant := range p.taken {
		if used := p.used[tenant]; !found || used < least {
			least, found = used, true
		}
	}
	for _, tenant := range p.order {
		if used := p.used[tenant]; !found || used < least {
			least, found = used, true
		}
	}
	return least, found
}

// forget drops the used time of tenants that neither have nor await a slot, once all others have used as much. The
// caller holds the lock.
func (p *fairSlots) forget() {
	least, found := p.least()
	for tenant, used := range p.used {
		if !found || used <= least && p.taken[tenant] == 0 && p.waiting[tenant] == nil {
			delete(p.used, tenant)
		}
	}
}

// put releases a slot that a tenant held for the duration used.
func (p *fairSlots) put(tenant string, used time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	p.used[tenant] += used
	if p.taken[tenant]--; p.taken[tenant] == 0 {
		delete(p.taken, tenant)
	}
	p.serve()
	if p.taken[tenant] == 0 && p.waiting[tenant] == nil {
		p.forget()
	}
}

// withdraw cancels a wait. It returns false if the slot was already granted.
func (p *fairSlots) withdraw(tenant string, given <-chan struct{}) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.waiting[tenant], func(each chan struct{}) bool { return each == given })
	if at >= 0 {
		p.remove(tenant, at)
	}
	return at >= 0
}

// wanted reports whether another tenant waits, may take a slot, and has not used more time than this one. used is how
// long this tenant has held its slot.
func (p *fairSlots) wanted(tenant string, used time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	used += p.used[tenant]
	return slices.ContainsFunc(p.order, func(other string) bool {
		return other != tenant && p.taken[other] < p.share && p.used[other] <= used
	})
}

// number returns the number of slots taken.
func (p *fairSlots) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// queued returns the number of waiting requests.
func (p *fairSlots) queued() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, line := range p.waiting {
		n += len(line)
	}
	return n
}

// free reports whether a tenant may take another slot. The caller holds the lock.
func (p *fairSlots) free(tenant string) bool { return p.all < p.most && p.taken[tenant] < p.share }

func (p *fairSlots) give(tenant string) {
	p.all++
	p.taken[tenant]++
}

// serve grants free slots to waiting work. The caller holds the lock.
func (p *fairSlots) serve() {
	for {
		at := -1
		for i, tenant := range p.order {
			if p.free(tenant) && (at < 0 || p.used[tenant] < p.used[p.order[at]]) {
				at = i
			}
		}
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

// remove removes the waiting entry at index at of a tenant. The caller holds the lock.
func (p *fairSlots) remove(tenant string, at int) {
	p.waiting[tenant] = slices.Delete(p.waiting[tenant], at, at+1)
	if len(p.waiting[tenant]) == 0 {
		delete(p.waiting, tenant)
		p.order = slices.DeleteFunc(p.order, func(each string) bool { return each == tenant })
	}
}
