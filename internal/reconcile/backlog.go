package reconcile

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// backlog holds back the work that a change of a whole controller makes, so that it
// does not get into the way of others. Such keys are let into the queue a few at a
// time: enough to keep all workers busy while nobody else has anything to write, and
// very few while another controller follows changes of single objects, for
// then every request in flight slows that other one down. It is safe for
// concurrent use.
type backlog struct {
	queue Queue
	clock clock.PassiveClock
	wide  int // keys that may be out at a time

	mu      sync.Mutex
	waiting map[string][]Key // by controller; none is empty
	order   []string         // of the controllers in waiting
	turn    int              // whose in order it is
	out     map[Key]struct{} // let into the queue, until the pass over them ends
	outOf   map[string]int   // the number of these by controller
	// The latest writes that follow a change of a single object, done or expected: last is
	// the latest, and other the latest by another controller than that.
	last, other write
}

type write struct {
	controller string
	at         time.Time
}

const (
	// narrow is how many keys of a controller are out while another controller writes.
	narrow = 2
	// courtesy is how long a write counts as going on.
	courtesy = time.Second
)

func newBacklog(queue Queue, c clock.PassiveClock, workers int) *backlog {
	return &backlog{
		queue: queue, clock: c, wide: 2 * max(workers, 1),
		waiting: map[string][]Key{}, out: map[Key]struct{}{}, outOf: map[string]int{},
	}
}

// add has all these keys of a controller worked on. They replace what is waiting.
func (b *backlog) add(controller string, keys []Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(keys) == 0 {
		return
	}
	if _, ok := b.waiting[controller]; !ok {
		b.order = append(b.order, controller)
	}
	b.waiting[controller] = keys
	b.letOut()
}

// expect takes note of a change of a single object that most likely needs a write.
func (b *backlog) expect(controller string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(controller)
}

// begin reports whether the pass that begins is over a key that was let out, which done
// is to be told.
func (b *backlog) begin(key Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, out := b.out[key]
	return out
}

// done takes note of the end of a pass: whether the key was let out, and whether something
// was written.
func (b *backlog) done(key Key, out, wrote bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case out:
		b.back(key)
	case wrote:
		b.note(key.Controller)
	}
	b.letOut()
}

func (b *backlog) back(key Key) {
	delete(b.out, key)
	if b.outOf[key.Controller]--; b.outOf[key.Controller] <= 0 {
		delete(b.outOf, key.Controller)
	}
}

func (b *backlog) note(controller string) {
	if b.last.controller != controller {
		b.other = b.last
	}
	b.last = write{controller, b.clock.Now()}
}

// letOut puts keys into the queue, the controllers in turn, until there is no room for
// any of them; the lock is held.
func (b *backlog) letOut() {
	now := b.clock.Now()
	for refused := 0; refused < len(b.order) && len(b.out) < b.wide; {
		b.turn %= len(b.order)
		controller := b.order[b.turn]
		if !b.room(controller, now) {
			refused++
			b.turn++
			continue
		}
		refused = 0
		b.letOne(controller)
	}
}

// letOne lets out the next key of the controller whose turn it is.
func (b *backlog) letOne(controller string) {
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

// room reports whether the controller may have one more key out.
func (b *backlog) room(controller string, now time.Time) bool {
	busy := b.last
	if busy.controller == controller {
		busy = b.other
	}
	return busy.controller == "" || now.Sub(busy.at) >= courtesy || b.outOf[controller] < narrow
}
