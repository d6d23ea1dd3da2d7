package reconcile

import "sync"

// said remembers the last problem announced for each parent, so that the same
// one is not announced in every pass. It is safe for concurrent use.
type said struct {
	mu    sync.Mutex
	last  map[Key]string
	words map[Key]words
}

// words are how a cause was told.
type words struct{ cause, message string }

func newSaid() *said { return &said{last: map[Key]string{}, words: map[Key]words{}} }

// steady returns the message by which that cause was told before, or else this one. The server
// names the faults of an object in random order, and at times not all
// of them; each other message would be a write and an Event.
func (s *said) steady(key Key, cause, message string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.words[key]; w.cause == cause {
		return w.message
	}
	s.words[key] = words{cause, message}
	return message
}

// fresh reports whether the text differs from the last one for key. An empty
// text says that all is well.
func (s *said) fresh(key Key, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		delete(s.last, key)
		delete(s.words, key)
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
	delete(s.words, key)
}
