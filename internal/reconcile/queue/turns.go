package queue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Turns is the order of the queue, and limits the reconciliations in progress. The next key is of the tenant with the
// fewest of them, and of its controller with the fewest, so that workers are shared by working time and not by the number
// of reconciliations. Equal tenants and controllers take turns. The keys of one controller are first in, first out.
//
// There are as many reconciliations in progress as workers, and always one of each controller, so that no controller waits
// for another one. Those that hang do not count, up to a crowd. A tenant has a smaller crowd, because requests that
// hang occupy the API server, too. A tenant that is over its credit has few reconciliations in progress, and the
// smallest crowd. It is safe for concurrent use.
type Turns struct {
	workers int
	tenants *Tenants
	credit  *Credit // nil = without end

	mu      sync.Mutex
	lanes   map[string]*lane // by controller; each has keys, or reconciliations in progress
	order   []*lane          // those that have keys, in turn
	shares  map[string]*share
	length  int
	passes  map[Key]bool // that are under way, and whether each hangs
	hanging int          // of these
}

// lane is what there is to do for a controller.
type lane struct {
	controller string
	share      *share
	keys       []Key
	passing    int
}

// share is that of a tenant.
type share struct {
	tenant  string
	lanes   int
	passing int
	hanging int // of these
}

// crowd times the number of workers is how many reconciliations may be in progress, with those that hang, before each controller
// has only one.
const crowd = 8

// tenantCrowd is that for one tenant, which has no more.
const tenantCrowd = 4

var _ workqueue.Queue[Key] = (*Turns)(nil)

// NewTurns returns the order for so many workers. The credit of tenants may be nil, which is without end.
func NewTurns(workers int, tenants *Tenants, credit *Credit) *Turns {
	return &Turns{workers: workers, tenants: tenants, credit: credit, lanes: map[string]*lane{}, shares: map[string]*share{}, passes: map[Key]bool{}}
}

// Touch leaves the key where it is.
func (t *Turns) Touch(Key) {}

// Push puts a key at the end of its controller's lane.
func (t *Turns) Push(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lane(key.Controller)
	if len(l.keys) == 0 {
		t.order = append(t.order, l)
	}
	l.keys = append(l.keys, key)
	t.length++
}

// Len returns the number of keys, and 0 while no reconciliation of one of them may begin. The end of a reconciliation may change that.
func (t *Turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next() < 0 {
		return 0
	}
	return t.length
}

// Pop takes the key whose turn it is: its reconciliation begins. There must be one.
func (t *Turns) Pop() Key {
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
	t.passes[key] = false
	l.passing++
	l.share.passing++
	return key
}

// done records the end of a reconciliation.
func (t *Turns) done(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lanes[key.Controller]
	if t.passes[key] {
		t.hanging--
		l.share.hanging--
	}
	delete(t.passes, key)
	l.passing--
	l.share.passing--
	if l.passing > 0 || len(l.keys) > 0 {
		return
	}
	delete(t.lanes, l.controller)
	if l.share.lanes--; l.share.lanes == 0 {
		delete(t.shares, l.share.tenant)
	}
}

// Hangs records that the reconciliation of a key waits long for a response, so that another one may begin.
func (t *Turns) Hangs(key Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if hangs, underWay := t.passes[key]; underWay && !hangs {
		t.passes[key] = true
		t.hanging++
		t.lanes[key.Controller].share.hanging++
	}
}

// lane returns that of a controller; the lock is held.
func (t *Turns) lane(controller string) *lane {
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

// next returns the index in order of the lane whose turn it is, or -1 if no reconciliation may begin; the lock is held.
func (t *Turns) next() int {
	room := len(t.passes)-t.hanging < t.workers && len(t.passes) < crowd*t.workers
	best := -1
	for i, l := range t.order {
		if l.passing > 0 && (!room || l.passing >= t.workers) || l.share.passing >= tenantCrowd*t.workers || t.held(l) {
			continue
		}
		if best < 0 || l.before(t.order[best]) {
			best = i
		}
		if l.share.passing == 0 {
			break // no lane can have fewer, and it was here first
		}
	}
	return best
}

// held reports whether a lane has to wait until reconciliations of its tenant, which is over its credit, end; the lock is held.
func (t *Turns) held(l *lane) bool {
	if t.credit == nil || l.share.passing < t.credit.few() { // mostly
		return false
	}
	full := l.share.passing-l.share.hanging >= t.credit.few() || l.passing > 0 && l.share.passing >= tenantCrowd*t.credit.few()
	return full && t.credit.over(l.share.tenant)
}

// before reports whether it is the turn of l rather than of another lane.
func (l *lane) before(other *lane) bool {
	if l.share.passing != other.share.passing {
		return l.share.passing < other.share.passing
	}
	return l.passing < other.passing
}
