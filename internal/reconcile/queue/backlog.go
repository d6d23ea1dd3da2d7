package queue

import (
	"slices"
	"sync"
)

// Backlog limits the work that the change of a whole controller causes, so that it
// does not delay other work: such keys are added to the queue a few at a time,
// and at least one of each controller, so that a controller with slow requests does not delay
// another one. Keys of single objects that have changed do not pass through here. It is safe
// for concurrent use.
type Backlog struct {
	queue Queue
	most  int // keys that are out at a time

	mu      sync.Mutex
	waiting map[string][]Key // by controller; none is empty
	order   []string         // of the controllers in waiting
	turn    int              // whose in order it is
	out     map[Key]struct{} // added to the queue, until their reconciliation ends
	outOf   map[string]int   // the number of these by controller; none is 0
}

// NewBacklog returns a backlog that lets at most so many keys into the queue at a time; less than 1 counts as 1.
func NewBacklog(queue Queue, most int) *Backlog {
	return &Backlog{queue: queue, most: max(most, 1), waiting: map[string][]Key{}, out: map[Key]struct{}{}, outOf: map[string]int{}}
}

// Add has all these keys of a controller worked on. They replace what is waiting.
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

// Begin reports whether the reconciliation that begins is of a key from the backlog; then Done is
// to be called at its end.
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

// admit puts keys into the queue, the controllers in turn, until there is no room for
// any of them; the lock is held.
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

// admitOne lets out the next key of the controller whose turn it is.
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
