package reconcile

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// sayAgain is when a lasting problem is announced again: the API server forgets Events, after an hour if its
// --event-ttl does not say otherwise.
const sayAgain = 50 * time.Minute

// said remembers the last problem announced for each parent, so that the same
// one is not announced in every pass, but as long as it lasts; and what could not be announced, see
// unheard.go. It is safe for concurrent use.
type said struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	last    map[queue.Key]announcement
	faults  map[queue.Key]faults
	refused map[audience]*refusal  // the last one
	unheard map[queue.Key]*refusal // of the last Event about a parent
}

// announcement is what was announced last, and when.
type announcement struct {
	text string
	at   time.Time
}

// faults are those that the server has found so far.
type faults struct {
	about string
	found []string
}

func newSaid(clock clock.PassiveClock) *said {
	return &said{clock: clock, last: map[queue.Key]announcement{}, faults: map[queue.Key]faults{}, refused: map[audience]*refusal{}, unheard: map[queue.Key]*refusal{}}
}

// all returns the faults and those that were found before in the same, sorted. The
// server looks at fields in random order and at times stops at the first that
// does not fit; each other finding would be a write and an Event.
func (s *said) all(key queue.Key, about string, found []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.faults[key]; before.about == about {
		found = slices.Concat(before.found, found)
	}
	found = slices.Sorted(slices.Values(found))
	found = slices.Compact(found)
	s.faults[key] = faults{about, found}
	return found
}

// fresh reports whether the text differs from the last one for key, or that one was announced long ago. An
// empty text says that all is well.
func (s *said) fresh(key queue.Key, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		s.drop(key)
		return false
	}
	if before := s.last[key]; before.text == text && s.clock.Since(before.at) < sayAgain {
		return false
	}
	s.last[key] = announcement{text, s.clock.Now()}
	return true
}

func (s *said) forget(key queue.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
}

// drop forgets about a parent; the lock is held.
func (s *said) drop(key queue.Key) {
	delete(s.last, key)
	delete(s.faults, key)
	delete(s.unheard, key)
}

func (s *said) ForgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue.DropController(s.last, name)
	queue.DropController(s.faults, name)
	queue.DropController(s.unheard, name)
}
