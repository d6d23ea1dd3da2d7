package reconcile

import "sync"

// said remembers the last problem announced for each parent, so that the same
// one is not announced in every pass. It is safe for concurrent use.
type said struct {
	mu   sync.Mutex
	last map[Key]string
}

// fresh reports whether the text differs from the last one for key. An empty
// text says that all is well.
func (s *said) fresh(key Key, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[key] == text {
		return false
	}
	if text == "" {
		delete(s.last, key)
		return false
	}
	s.last[key] = text
	return true
}

func (s *said) forget(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, key)
}
