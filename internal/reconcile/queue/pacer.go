package queue

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// How many parents may stop matching per second, and in a burst.
const (
	DeparturesPerSecond = 20
	DepartureBurst      = 20
)

// UnmatchedParentLimiter limits how many parents of a controller per second are checked and lose their children after they stop
// matching, so that a wrong selector can be corrected in time, by suspend or another edit. It is safe for concurrent
// use.
type UnmatchedParentLimiter struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	lines map[string]*line // by controller
}

// line is the queue of the parents that stop matching a controller. Each generation of the spec has its own.
type line struct {
	generation int64
	next       time.Time                          // time of the next free place
	places     map[types.NamespacedName]time.Time // places taken
}

// NewDeparturePacer returns an empty pacer.
func NewDeparturePacer(clock clock.PassiveClock) *UnmatchedParentLimiter {
	return &UnmatchedParentLimiter{clock: clock, lines: map[string]*line{}}
}

// Wait returns how long a parent must wait for its turn. The first call takes a place, which the parent keeps until
// Wait returns 0.
func (p *UnmatchedParentLimiter) Wait(key Key, generation int64) time.Duration {
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

// line returns the line of a generation. Parents that wait because of another generation lose their places. The caller
// holds the lock.
func (p *UnmatchedParentLimiter) line(controller string, generation int64, now time.Time) *line {
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

// close frees all places, because no parent waits for them anymore.
func (l *line) close(now time.Time) {
	if l.next.After(now) {
		l.next = now
	}
}

// take returns the next free place, which may be in the past.
func (l *line) take(now time.Time) time.Time {
	const gap = time.Second / DeparturesPerSecond
	if earliest := now.Add(-DepartureBurst * gap); l.next.Before(earliest) {
		l.next = earliest
	}
	at := l.next
	l.next = at.Add(gap)
	return at
}

// End releases the place of a parent that matches again or has no children left.
func (p *UnmatchedParentLimiter) End(key Key) {
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

// ForgetController drops the state of a deleted TemplateController.
func (p *UnmatchedParentLimiter) ForgetController(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lines, name)
}
