package queue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// FairQueue orders the queue, and limits the reconciliations in progress. The next key belongs to the tenant with the
// fewest reconciliations in progress, and to its controller with the fewest, so that workers are shared by working
// time, not by number of reconciliations. Ties are resolved round robin. The keys of one controller are first in, first
// out.
//
// There are at most as many reconciliations in progress as workers, but always one per controller, so that no
// controller waits for another one. Hanging reconciliations do not count, up to a limit. The limit per tenant is lower,
// because hanging requests also use API server capacity. It is lowest for a tenant without credit, which also gets few
// reconciliations in progress. It is safe for concurrent use.
type FairQueue struct {
	workers int
	tenants *Tenants
	credit  *Credit // nil = unlimited

	mu              sync.Mutex
	lanes           map[string]*lane // by controller; each has keys or reconciliations in progress
	order           []*lane          // lanes with keys, for round robin
	shares          map[string]*share
	length          int
	reconciliations map[Key]bool // in progress; true if it hangs
	hanging         int          // number of hanging reconciliations
}

// lane is the queue of one controller.
type lane struct {
	controller string
	share      *share
	keys       []Key
	inProgress int
}

// share is the state of one tenant.
type share struct {
	tenant     string
	lanes      int
	inProgress int
	hanging    int // number of inProgress that hang
}

// overcommit, multiplied by the number of workers, limits the reconciliations in progress including hanging ones. Beyond it,
// each controller has only one.
const overcommit = 8

// tenantOvercommit is the same limit for one tenant. It is a hard limit.
const tenantOvercommit = 4

var _ workqueue.Queue[Key] = (*FairQueue)(nil)

// NewFairQueue returns a FairQueue for the given number of workers. A nil credit is unlimited.
func NewFairQueue(workers int, tenants *Tenants, credit *Credit) *FairQueue {
	return &FairQueue{workers: workers, tenants: tenants, credit: credit, lanes: map[string]*lane{}, shares: map[string]*share{}, reconciliations: map[Key]bool{}}
}

// Touch does nothing: a key that is added again keeps its place.
func (t *FairQueue) Touch(Key) {}

// Push appends a key to the lane of its controller.
func (t *FairQueue) Push(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lane(key.Controller)
	if len(l.keys) == 0 {
		t.order = append(t.order, l)
	}
	l.keys = append(l.keys, key)
	t.length++
}

// Len returns the number of keys, or 0 while no reconciliation may begin, which may change when one ends or hangs.
func (t *FairQueue) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next() < 0 {
		return 0
	}
	return t.length
}

// Pop removes and returns the next key, and counts its reconciliation as in progress. It panics if Len is 0.
func (t *FairQueue) Pop() Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.next()
	l := t.order[at]
	t.order = slices.Delete(t.order, at, at+1)
	key := l.keys[0]
	if l.keys = l.keys[1:]; len(l.keys) > 0 {
		t.order = append(t.order, l)
	} else {
		l.keys = nil
	}
	t.length--
	t.reconciliations[key] = false
	l.inProgress++
	l.share.inProgress++
	return key
}

// done records the end of a reconciliation.
func (t *FairQueue) done(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[key.Controller]
	if t.reconciliations[key] {
		t.hanging--
		l.share.hanging--
	}
	delete(t.reconciliations, key)
	l.inProgress--
	l.share.inProgress--
	if l.inProgress > 0 || len(l.keys) > 0 {
		return
	}
	delete(t.lanes, l.controller)
	if l.share.lanes--; l.share.lanes == 0 {
		delete(t.shares, l.share.tenant)
	}
}

// Hangs records that the reconciliation of a key waits for a slow response, so that another one can begin. Keys that
// are not in progress are ignored.
func (t *FairQueue) Hangs(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hangs, underWay := t.reconciliations[key]; underWay && !hangs {
		t.reconciliations[key] = true
		t.hanging++
		t.lanes[key.Controller].share.hanging++
	}
}

// lane returns the lane of a controller. The caller holds the lock.
func (t *FairQueue) lane(controller string) *lane {
	l := t.lanes[controller]
	if l == nil {
		tenant := t.tenants.Name(controller)
		if t.shares[tenant] == nil {
			t.shares[tenant] = &share{tenant: tenant}
		}
		l = &lane{controller: controller, share: t.shares[tenant]}
		l.share.lanes++
		t.lanes[controller] = l
	}
	return l
}

// next returns the index in order of the next lane, or -1 if no reconciliation may begin. The caller holds the lock.
func (t *FairQueue) next() int {
	room := len(t.reconciliations)-t.hanging < t.workers && len(t.reconciliations) < overcommit*t.workers
	best := -1
	for i, l := range t.order {
		if l.inProgress > 0 && (!room || l.inProgress >= t.workers) || l.share.inProgress >= tenantOvercommit*t.workers || t.held(l) {
			continue
		}
		if best < 0 || l.before(t.order[best]) {
			best = i
		}
		if l.share.inProgress == 0 {
			break // no lane can have fewer, and this one is the first of its equals
		}
	}
	return best
}

// held reports whether a lane must wait until reconciliations of its tenant end, because the tenant has exhausted its
// credit. The caller holds the lock.
func (t *FairQueue) held(l *lane) bool {
	if t.credit == nil || l.share.inProgress < t.credit.few() { // the common case
		return false
	}
	full := l.share.inProgress-l.share.hanging >= t.credit.few() || l.inProgress > 0 && l.share.inProgress >= tenantOvercommit*t.credit.few()
	return full && t.credit.over(l.share.tenant)
}

// before reports whether l is served before other.
func (l *lane) before(other *lane) bool {
	if l.share.inProgress != other.share.inProgress {
		return l.share.inProgress < other.share.inProgress
	}
	return l.inProgress < other.inProgress
}
