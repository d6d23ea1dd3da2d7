package queue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Turns is the order of the queue, and bounds the passes that are under way. Next is a key of the tenant with the
// fewest of them, and of its controllers of that with the fewest, so that workers are shared by the time that they are
// at work and not by the number of passes. Where that is the same for some, they take turns, and keys of one
// controller come first in, first out.
//
// There are as many passes under way as workers, and one of each controller in any case, so that nobody waits for
// another one's to end. Those that hang do not count, up to a crowd. A tenant has a smaller crowd, for requests that
// hang take places of the API server, too. A tenant that is over its credit has few passes under way, and the
// smallest crowd. It is safe for concurrent use.
type Turns struct {
	workers int
	tenants *Tenants
	credit  *Credit // nil = without end

	mu      sync.Mutex
	lanes   map[string]*lane // by controller; each has keys, or passes under way
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

// crowd is how many times as many passes as there are workers may be under way, with those that hang, before there is
// one of each controller only.
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

// Len returns the number of keys, and 0 while no pass over one of them may begin. Whoever ends a pass looks again.
func (t *Turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next() < 0 {
		return 0
	}
	return t.length
}

// Pop takes the key whose turn it is: a pass over it begins. There must be one.
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

// done takes note of the end of a pass.
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

// Hangs says that the pass over a key waits for an answer for long, so that another one may begin.
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

// next returns whose turn in order it is, or -1 where no pass may begin; the lock is held.
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
			break // nobody can have fewer, and it was here first
		}
	}
	return best
}

// held reports whether a lane has to wait for passes of its tenant, which is over its credit, to end; the lock is held.
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
