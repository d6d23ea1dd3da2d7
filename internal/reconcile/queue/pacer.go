package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// How many parents may stop matching in a second, and at once.
const (
	DeparturesPerSecond = 20
	DepartureBurst      = 20
)

// DeparturePacer limits how many parents of a controller are asked about, and lose their children, in a second,
// so that a mistake in a selector can be stopped by suspend or another edit. It is safe for concurrent use.
type DeparturePacer struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	lines map[string]*line // by controller
}

// line is the queue of the parents that stop matching a controller. Another spec has a line of its own.
type line struct {
	generation int64
	next       time.Time                          // the next free place
	places     map[types.NamespacedName]time.Time // those that are taken
}

// NewDeparturePacer returns a pacer without waiting parents.
func NewDeparturePacer(clock clock.PassiveClock) *DeparturePacer {
	return &DeparturePacer{clock: clock, lines: map[string]*line{}}
}

// Wait returns how long it is until a parent's turn. The first call takes a place, which the parent keeps
// until a call returns 0.
func (p *DeparturePacer) Wait(key Key, generation int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	l := p.line(key.Controller, generation, now)
	at, has := l.places[key.Parent]
	if !has {
		at = l.take(now)
	}
	if at.After(now) {
		l.places[key.Parent] = at
		return at.Sub(now)
	}
	delete(l.places, key.Parent)
	return 0
}

// line returns the line of a spec, without parents that wait because of another spec; the lock is held.
func (p *DeparturePacer) line(controller string, generation int64, now time.Time) *line {
	before := p.lines[controller]
	if before != nil && before.generation == generation {
		return before
	}
	l := &line{generation: generation, places: map[types.NamespacedName]time.Time{}}
	if before != nil {
		l.next = before.next
		l.close(now)
	}
	p.lines[controller] = l
	return l
}

// close ends all places that were taken: no parent waits for them any more.
func (l *line) close(now time.Time) {
	if l.next.After(now) {
		l.next = now
	}
}

// take returns the next free place, which may have been free for a while.
func (l *line) take(now time.Time) time.Time {
	const gap = time.Second / DeparturesPerSecond
	if earliest := now.Add(-DepartureBurst * gap); l.next.Before(earliest) {
		l.next = earliest
	}
	at := l.next
	l.next = at.Add(gap)
	return at
}

// End has a parent give up its place: it is one again, or there is nothing left of it.
func (p *DeparturePacer) End(key Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lines[key.Controller]
	if l == nil {
		return
	}
	if _, waits := l.places[key.Parent]; !waits {
		return
	}
	if delete(l.places, key.Parent); len(l.places) == 0 {
		l.close(p.clock.Now())
	}
}

// ForgetController drops what is remembered of a controller that was deleted.
func (p *DeparturePacer) ForgetController(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lines, name)
}
