package watch

import (
	"sync/atomic"
	"time"
)

// State is how a watch fares.
type State struct {
	Want   Want
	Synced bool
	// Err is why the last list or watch failed, nil when it did not.
	Err error
	// Progress is when the watch last had a list, the start of a watch request, an event or a
	// bookmark; the start of it all while it has had none.
	Progress time.Time
	// Heard is Progress, or when a later request failed: a watch that is refused tries
	// on, and is not stuck.
	Heard time.Time
}

// liveness remembers when a watch was last seen alive. It is safe for concurrent use and
// allocates nothing. Times are kept as distances, so that a clock that is set does not count.
type liveness struct {
	now      func() time.Time
	begun    time.Time
	progress atomic.Int64 // nanoseconds after begun
	heard    atomic.Int64 // likewise
}

func (l *liveness) begin(now func() time.Time) { l.now, l.begun = now, now() }

// progressed takes note of progress.
func (l *liveness) progressed() {
	d := int64(l.now().Sub(l.begun))
	l.progress.Store(d)
	l.heard.Store(d)
}

// answered takes note of how a request went.
func (l *liveness) answered(err error) {
	d := int64(l.now().Sub(l.begun))
	l.heard.Store(d)
	if err == nil {
		l.progress.Store(d)
	}
}

// State returns how the watch of this cache fares.
func (c *Cache) State() State {
	synced, err := c.state()
	return State{
		Want: c.want, Synced: synced, Err: err,
		Progress: c.liveness.begun.Add(time.Duration(c.liveness.progress.Load())),
		Heard:    c.liveness.begun.Add(time.Duration(c.liveness.heard.Load())),
	}
}

// States returns how all watches fare, in no order.
func (m *Manager) States() []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := make([]State, 0, len(m.running))
	for _, r := range m.running {
		states = append(states, r.cache.State())
	}
	return states
}
