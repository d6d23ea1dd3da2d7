package queue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// loopBurst reconciliations that write may follow each other freely while the
	// parent's spec stays the same; a rollout of many children needs some.
	loopBurst = 60
	// rolloutPasses more may do so for each child that is changed when others are ready: at worst it is
	// deleted by one reconciliation, and created again by another.
	rolloutPasses = 2
	// loopRefill is how long it takes until one more is allowed.
	loopRefill = 5 * time.Second
	// loopPause is the time between reconciliations while the limit is reached.
	loopPause = 30 * time.Second
)

// Breaker slows down parents whose reconciliations keep writing although nothing has changed, as when two
// controllers fight over a field. A reconciliation counts if it writes children while the specs of the parent and of
// the TemplateController stay the same, or the status while the children and all other inputs of templates stay the same, too. It
// delays reconciliations and never drops one, and recovers by itself. It is safe for concurrent use.
type Breaker struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	spent map[Key]*spending
}

// NewBreaker returns a breaker that knows of no parent.
func NewBreaker(clock clock.PassiveClock) *Breaker {
	return &Breaker{clock: clock, spent: map[Key]*spending{}}
}

// Generations identify the specs of a reconciliation: the generation of the TemplateController, and that of the parent or, if
// its kind has none, a hash of what users write.
type Generations struct{ Parent, Controller int64 }

type spending struct {
	specs    Generations
	passes   float64   // reconciliations that wrote, less what has been refilled
	at       time.Time // of the last refill
	wrote    time.Time // the last reconciliation that did
	until    time.Time // no reconciliation before
	children uint64    // their fingerprint after the last reconciliation that wrote
	rewrites *Rewrites // what is written over and over; nil until there is reason to ask
}

// Knows reports whether reconciliations of key have written lately.
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
		delete(b.spent, key) // what it remembers has been refilled
	}
	return max(0, s.until.Sub(now))
}

// Written is what a reconciliation has written.
type Written struct {
	Children, Status bool
	Before, After    uint64 // fingerprints of the children and of what else templates have read
	Rolling          int    // how many children are changed a few at a time
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
	called := s.children != w.Before // by a child that has changed
	s.children = w.After
	if !w.Children && called {
		return false
	}
	s.passes++
	burst := float64(loopBurst + rolloutPasses*w.Rolling)
	if s.passes > burst/2 && s.rewrites == nil {
		s.rewrites = NewRewrites()
	}
	if s.passes <= burst {
		return false
	}
	s.until = now.Add(loopPause)
	return true
}

// Tripped reports whether the parent has been written to too often.
func (b *Breaker) Tripped(key Key, of Generations) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent[key]
	return s != nil && s.specs == of && b.clock.Since(s.until) < loopPause
}

// Rewrites returns where reconciliations of key are to record what they write, or nil while there is no
// reason to. Only the reconciliation of that key that is in progress may use it.
func (b *Breaker) Rewrites(key Key, of Generations) *Rewrites {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.spent[key]; s != nil && s.specs == of {
		return s.rewrites
	}
	return nil
}

func (s *spending) refill(now time.Time) {
	s.passes = max(0, s.passes-now.Sub(s.at).Seconds()/loopRefill.Seconds())
	s.at = now
}

// Forget drops what is remembered of a parent that was deleted.
func (b *Breaker) Forget(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spent, key)
}

// ForgetController drops what is remembered of a controller that was deleted.
func (b *Breaker) ForgetController(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	DropController(b.spent, name)
}
