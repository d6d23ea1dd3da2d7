package watch

import (
	"sync/atomic"
	"time"
)

// State is the state of a watch.
type State struct {
	Want   Want
	Synced bool
	// Err is the error of the last list or watch, or nil.
	Err error
	// Progress is the time of the last list, accepted watch request, event or bookmark. Initially, it is the time when the watch
	// was started.
	Progress time.Time
	// Heard is the later of Progress and the last failed request: a watch whose requests are rejected keeps retrying and is not
	// stuck.
	Heard time.Time
}

// liveness records the last activity of a watch. It is safe for concurrent use and allocates nothing. Times are stored as
// durations, so that clock adjustments do not matter.
type liveness struct {
	now      func() time.Time
	begun    time.Time
	progress atomic.Int64 // nanoseconds after begun
	heard    atomic.Int64 // the same
}

func (l *liveness) begin(now func() time.Time) { l.now, l.begun = now, now() }

// progressed records progress.
func (l *liveness) progressed() {
	d := int64(l.now().Sub(l.begun))
	l.progress.Store(d)
	l.heard.Store(d)
}

// answered records the result of a request.
func (l *liveness) answered(err error) {
	d := int64(l.now().Sub(l.begun))
	l.heard.Store(d)
	if err == nil {
		l.progress.Store(d)
	}
}

// State returns the state of the watch of this cache.
func (c *Cache) State() State {
	synced, err := c.state()
	return State{
		Want: c.want, Synced: synced, Err: err,
		Progress: c.liveness.begun.Add(time.Duration(c.liveness.progress.Load())),
		Heard:    c.liveness.begun.Add(time.Duration(c.liveness.heard.Load())),
	}
}

// States returns the states of all watches, in no particular order.
func (m *Manager) States() []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := make([]State, 0, len(m.running))
	for _, r := range m.running {
		states = append(states, r.cache.State())
	}
	return states
}
