package reconcile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// settleTime is how long a changed object is not counted on while its status may lag: see readiness.MayLag.
const settleTime = 5 * time.Second

// settling records which objects of rollouts were changed recently, by the clock and the writes of this process alone. Objects that
// another process changed count as changed just before this one began.
type settling struct {
	mu      sync.Mutex
	began   time.Time
	changed map[types.UID]time.Time // no longer ago than settleTime, but for some that were not taken out yet
	swept   time.Time
}

// begin records that another process may have written until now.
func (s *settling) begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = now
}

// note records that an object was changed.
func (s *settling) note(object types.UID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[types.UID]time.Time{}
	}
	if now.Sub(s.swept) >= settleTime {
		for other, at := range s.changed {
			if now.Sub(at) >= settleTime {
				delete(s.changed, other)
			}
		}
		s.swept = now
	}
	s.changed[object] = now
}

// left returns how long the object still counts as unavailable; 0 means that it does not.
func (s *settling) left(object types.UID, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.changed[object]
	if !ok {
		at = s.began
	}
	return min(settleTime, max(0, settleTime-now.Sub(at)))
}
