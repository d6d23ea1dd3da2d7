package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// loopBurst is how many reconciliations may write without delay while the spec of the parent stays the same. A
	// rollout of many children needs some.
	loopBurst = 60
	// rolloutWrites is how many more are allowed for each child that is part of a rolling update: at worst, one
	// reconciliation deletes the child and another one recreates it.
	rolloutWrites = 2
	// loopRefill is the time after which another reconciliation is allowed.
	loopRefill = 5 * time.Second
	// loopPause is the time between reconciliations while the limit is exceeded.
	loopPause = 30 * time.Second
)

// Breaker slows down parents whose reconciliations keep writing although nothing has changed, for example if two
// controllers fight over a field. A reconciliation counts if it writes children while the specs of the parent and the
// TemplateController are unchanged, or the status while the children and all other template inputs are unchanged, too.
// It delays reconciliations but never drops one, and recovers by itself. It is safe for concurrent use.
type Breaker struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	spent map[Key]*spending
}

// NewBreaker returns an empty breaker.
func NewBreaker(clock clock.PassiveClock) *Breaker {
	return &Breaker{clock: clock, spent: map[Key]*spending{}}
}

// Generations identify the specs of a reconciliation: the generation of the TemplateController, and the generation of
// the parent or, if its kind has none, a hash of its user-written fields.
type Generations struct{ Parent, Controller int64 }

type spending struct {
	specs    Generations
	writes   float64   // reconciliations that wrote, minus refills
	at       time.Time // of the last refill
	wrote    time.Time // time of the last reconciliation that wrote
	until    time.Time // no reconciliation before this time
	children uint64    // Written.After of the last reconciliation that wrote
	rewrites *Rewrites // fields that are repeatedly written; nil until half of the limit is used
}

// Knows reports whether reconciliations of key wrote recently.
func (b *Breaker) Knows(key Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent[key] != nil
}

// Wait returns how long to wait before the next reconciliation of key, or 0.
func (b *Breaker) Wait(key Key, of Generations) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent[key]
	if s == nil || s.specs != of {
		return 0
	}
	now := b.clock.Now()
	if now.Sub(s.wrote) > loopBurst*loopRefill {
		delete(b.spent, key) // everything has been refilled
	}
	return max(0, s.until.Sub(now))
}

// Written describes the writes of a reconciliation.
type Written struct {
	Children, Status bool
	Before, After    uint64 // fingerprints of the children and other template inputs
	Rolling          int    // number of children in a rolling update
}

// Any reports whether anything was written.
func (w Written) Any() bool { return w.Children || w.Status }

// Wrote counts a reconciliation that wrote, and reports whether it exceeds the limit.
func (b *Breaker) Wrote(key Key, of Generations, w Written) bool {
	if !w.Any() {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	s := b.spent[key]
	if s == nil || s.specs != of {
		s = &spending{specs: of, at: now}
		b.spent[key] = s
	}
	s.refill(now)
	s.wrote = now
	called := s.children != w.Before // triggered by a changed child
	s.children = w.After
	if !w.Children && called {
		return false
	}
	s.writes++
	burst := float64(loopBurst + rolloutWrites*w.Rolling)
	if s.writes > burst/2 && s.rewrites == nil {
		s.rewrites = NewRewrites()
	}
	if s.writes <= burst {
		return false
	}
	s.until = now.Add(loopPause)
	return true
}

// Tripped reports whether the limit is exceeded.
func (b *Breaker) Tripped(key Key, of Generations) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent[key]
	return s != nil && s.specs == of && b.clock.Since(s.until) < loopPause
}

// Rewrites returns the recorder for writes of key, or nil if they need not be recorded. Only the running reconciliation
// of key may use it.
func (b *Breaker) Rewrites(key Key, of Generations) *Rewrites {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.spent[key]; s != nil && s.specs == of {
		return s.rewrites
	}
	return nil
}

func (s *spending) refill(now time.Time) {
	s.writes = max(0, s.writes-now.Sub(s.at).Seconds()/loopRefill.Seconds())
	s.at = now
}

// Forget drops the state of a deleted parent.
func (b *Breaker) Forget(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spent, key)
}

// ForgetController drops the state of a deleted TemplateController.
func (b *Breaker) ForgetController(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	DropController(b.spent, name)
}
