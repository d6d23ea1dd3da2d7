package reconcile

import (
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

const (
	// loopBurst passes that write may follow each other freely while the
	// parent's spec stays the same; a roll-out of many children needs some.
	loopBurst = 60
	// loopRefill is how long it takes until one more is allowed.
	loopRefill = 5 * time.Second
	// loopPause is the time between passes while none is allowed.
	loopPause = 30 * time.Second
)

// breaker slows down parents whose passes keep writing although nothing calls for it, as when two
// controllers fight over a field. A pass counts that writes children while the specs of the parent and of
// the TemplateController stay the same, or the status while the children stay the same, too. It delays
// passes and never drops one, and recovers by itself. It is safe for concurrent use.
type breaker struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	spent map[queue.Key]*spending
}

// specs tell from which specs a pass works: the generation of the TemplateController, and that of the parent or, where
// its kind has none, a hash of what users write.
type specs struct{ parent, controller int64 }

// specs are what the pass works from.
func (p *pass) specs() specs {
	if p.parentSpec == 0 {
		p.parentSpec = p.parent.Generation()
	}
	if p.parentSpec == 0 { // ConfigMaps, Secrets and some more
		p.parentSpec = contentHash(p.content())
	}
	return specs{p.parentSpec, p.generation}
}

// contentHash differs for objects that differ outside of their metadata and status, which others than
// users write, too.
func contentHash(content map[string]any) int64 {
	content = maps.Clone(content)
	for _, field := range []string{"apiVersion", "kind", "metadata", "status"} {
		delete(content, field)
	}
	return int64(maphash.Bytes(seed, object.Append(nil, content))) //nolint:gosec // a hash may be negative
}

type spending struct {
	specs    specs
	passes   float64   // passes that wrote, less what has been refilled
	at       time.Time // of the last refill
	wrote    time.Time // the last pass that did
	until    time.Time // no pass before
	children uint64    // as the last pass that wrote left them: see fingerprint
	flaps    *flaps    // what is written over and over; nil until there is reason to ask
}

// knows reports whether passes over key have written lately.
func (b *breaker) knows(key queue.Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spent[key] != nil
}

// wait returns how long to wait before the next pass over key, or 0.
func (b *breaker) wait(key queue.Key, of specs) time.Duration {
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

// written is what a pass has written.
type written struct {
	children, status bool
	visible          bool   // the status is another one: found out where templates read it
	before, after    uint64 // the children: see fingerprint
}

// any reports whether anything was written.
func (w written) any() bool { return w.children || w.status }

// wrote counts a pass that wrote, and reports whether it was one too many.
func (b *breaker) wrote(key queue.Key, of specs, w written) bool {
	if !w.any() {
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
	called := s.children != w.before // by a child that has changed
	s.children = w.after
	if !w.children && called {
		return false
	}
	s.passes++
	if s.passes > loopBurst/2 && s.flaps == nil {
		s.flaps = newFlaps()
	}
	if s.passes <= loopBurst {
		return false
	}
	s.until = now.Add(loopPause)
	return true
}

// tripped reports whether the parent has been written to too often.
func (b *breaker) tripped(key queue.Key, of specs) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spent[key]
	return s != nil && s.specs == of && b.clock.Since(s.until) < loopPause
}

// flaps returns where passes over key are to note what they write, or nil while there is no
// reason to. Only the one pass under way over that key may use it.
func (b *breaker) flaps(key queue.Key, of specs) *flaps {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.spent[key]; s != nil && s.specs == of {
		return s.flaps
	}
	return nil
}

func (s *spending) refill(now time.Time) {
	s.passes = max(0, s.passes-now.Sub(s.at).Seconds()/loopRefill.Seconds())
	s.at = now
}

var seed = maphash.MakeSeed()

// fingerprint differs for different states of the children.
func fingerprint(children []*live) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, l := range children {
		_, _ = h.WriteString(string(l.object.UID())) // a hash takes everything
		_ = h.WriteByte('@')
		_, _ = h.WriteString(l.object.ResourceVersion())
		_ = h.WriteByte(' ')
	}
	return h.Sum64()
}

func (b *breaker) forget(key queue.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spent, key)
}

func (b *breaker) ForgetController(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	queue.DropController(b.spent, name)
}
