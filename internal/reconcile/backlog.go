package reconcile

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// backlog holds back the work that a change of a whole controller makes, so that it
// does not get into the way of others. Such keys go into the queue a few at a time:
// enough to keep all workers busy while nobody else has anything to write, and
// very few while another controller follows changes of single objects, for
// then every request in flight slows that other one down. It is safe for
// concurrent use.
type backlog struct {
	queue Queue
	clock clock.PassiveClock
	wide  int // keys in the queue or worked on while nobody else writes

	mu      sync.Mutex
	waiting map[string][]Key // by controller; none is empty
	order   []string         // of the controllers in waiting
	out     map[Key]struct{} // in the queue, or worked on
	// The latest writes that followed a change of a single object: last is the
	// latest, and other the latest by another controller than that.
	last, other write
}

type write struct {
	controller string
	at         time.Time
}

const (
	// narrow is how many keys are let out while another controller writes.
	narrow = 2
	// courtesy is how long a write counts as going on.
	courtesy = time.Second
)

func newBacklog(queue Queue, c clock.PassiveClock, workers int) *backlog {
	return &backlog{queue: queue, clock: c, wide: 2 * max(workers, 1), waiting: map[string][]Key{}, out: map[Key]struct{}{}}
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

// done takes note of the end of a pass, and whether it wrote something.
func (b *backlog) done(key Key, wrote bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, out := b.out[key]
	if wrote && !out {
		b.note(key.Controller)
	}
	delete(b.out, key)
	b.letOut()
}

func (b *backlog) note(controller string) {
	if b.last.controller != controller {
		b.other = b.last
	}
	b.last = write{controller, b.clock.Now()}
}

// letOut puts keys into the queue, the controllers in turn; the lock is held.
func (b *backlog) letOut() {
	for range len(b.order) {
		if len(b.out) >= b.wide {
			return
		}
		controller := b.order[0]
		b.order = b.order[1:]
		keys := b.waiting[controller]
		for width := b.width(controller); len(keys) > 0 && len(b.out) < width; keys = keys[1:] {
			b.out[keys[0]] = struct{}{}
			b.queue.Add(keys[0])
			if len(b.order) > 0 {
				keys = keys[1:]
				break // the next controller's turn
			}
		}
		if len(keys) == 0 {
			delete(b.waiting, controller)
			continue
		}
		b.waiting[controller] = keys
		b.order = append(b.order, controller)
	}
}

// width is how many keys may be out for the controller to add one.
func (b *backlog) width(controller string) int {
	busy := b.last
	if busy.controller == controller {
		busy = b.other
	}
	if busy.controller != "" && b.clock.Since(busy.at) < courtesy {
		return min(narrow, b.wide)
	}
	return b.wide
}
