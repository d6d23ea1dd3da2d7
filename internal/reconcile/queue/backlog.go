package queue

import (
	"slices"
	"sync"
)

// Backlog limits the reconciliations that a change of a TemplateController causes, so that they do not delay other
// work. It adds the keys to the queue a few at a time, but at least one per controller, so that a controller with slow
// requests does not delay another one. Keys of single objects that changed bypass the backlog. It is safe for
// concurrent use.
type Backlog struct {
	queue Queue
	most  int // maximum number of keys in out

	mu      sync.Mutex
	waiting map[string][]Key // by controller; no entry is empty
	order   []string         // controllers in waiting, for round robin
	turn    int              // index in order of the controller that is next
	out     map[Key]struct{} // added to the queue, until their reconciliation ends
	outOf   map[string]int   // number of keys in out by controller; no entry is 0
}

// NewBacklog returns a backlog that adds at most max(most, 1) keys to the queue at a time.
func NewBacklog(queue Queue, most int) *Backlog {
	return &Backlog{queue: queue, most: max(most, 1), waiting: map[string][]Key{}, out: map[Key]struct{}{}, outOf: map[string]int{}}
}

// Add replaces the waiting keys of a controller. It does nothing if keys is empty.
func (b *Backlog) Add(controller string, keys []Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	if _, ok := b.waiting[controller]; !ok {
		b.order = append(b.order, controller)
	}
	b.waiting[controller] = keys
	b.admit()
}

// Begin reports whether the key comes from the backlog. If so, call Done after the reconciliation.
func (b *Backlog) Begin(key Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, out := b.out[key]
	return out
}

// Done records the end of a reconciliation.
func (b *Backlog) Done(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.out, key)
	if b.outOf[key.Controller]--; b.outOf[key.Controller] == 0 {
		delete(b.outOf, key.Controller)
	}
	b.admit()
}

// admit adds keys to the queue, round robin between controllers, until the limit is reached. The caller holds the lock.
func (b *Backlog) admit() {
	for refused := 0; refused < len(b.order); {
		b.turn %= len(b.order)
		controller := b.order[b.turn]
		if len(b.out) >= b.most && b.outOf[controller] > 0 {
			refused++
			b.turn++
			continue
		}
		refused = 0
		b.admitOne(controller)
	}
}

// admitOne adds the next key of the controller at b.turn to the queue.
func (b *Backlog) admitOne(controller string) {
	keys := b.waiting[controller]
	key := keys[0]
	if keys = keys[1:]; len(keys) > 0 {
		b.waiting[controller] = keys
		b.turn++
	} else {
		delete(b.waiting, controller)
		b.order = slices.Delete(b.order, b.turn, b.turn+1)
	}
	if _, twice := b.out[key]; !twice {
		b.out[key] = struct{}{}
		b.outOf[controller]++
	}
	b.queue.Add(key)
}
