package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// CollectorTime is how long children whose parent is gone are left to the
// garbage collector before templater looks after them itself.
const CollectorTime = 60 * time.Second

// AbsentParents remembers since when parents are missed that still have children. It
// is safe for concurrent use.
type AbsentParents struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[Key]time.Time
}

// NewAbsentParents returns an AbsentParents that knows of none.
func NewAbsentParents(clock clock.PassiveClock) *AbsentParents {
	return &AbsentParents{clock: clock, since: map[Key]time.Time{}}
}

// Left returns how much of the garbage collector's time is left; the first
// call for a key begins it.
func (a *AbsentParents) Left(key Key) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, ok := a.since[key]
	if !ok {
		since = a.clock.Now()
		a.since[key] = since
	}
	return max(0, CollectorTime-a.clock.Since(since))
}

// End says that nobody misses a parent any more, or that there is nothing left of it.
func (a *AbsentParents) End(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, key)
}

// ForgetController forgets about a controller that is gone.
func (a *AbsentParents) ForgetController(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	DropController(a.since, name)
}
