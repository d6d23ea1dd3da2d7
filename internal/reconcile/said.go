package reconcile

import (
	"slices"
	"sync"
)

// said remembers the last problem announced for each parent, so that the same
// one is not announced in every pass. It is safe for concurrent use.
type said struct {
	mu     sync.Mutex
	last   map[Key]string
	faults map[Key]faults
}

// faults are those that the server has found so far.
type faults struct {
	about string
	found []string
}

func newSaid() *said { return &said{last: map[Key]string{}, faults: map[Key]faults{}} }

// all returns the faults and those that were found before in the same, sorted. The
// server looks at fields in random order and at times stops at the first that
// does not fit; each other finding would be a write and an Event.
func (s *said) all(key Key, about string, found []string) []string {
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

// fresh reports whether the text differs from the last one for key. An empty
// text says that all is well.
func (s *said) fresh(key Key, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		delete(s.last, key)
		delete(s.faults, key)
		return false
	}
	if s.last[key] == text {
		return false
	}
	s.last[key] = text
	return true
}

func (s *said) forget(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, key)
	delete(s.faults, key)
}

func (s *said) forgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropController(s.last, name)
	dropController(s.faults, name)
}
