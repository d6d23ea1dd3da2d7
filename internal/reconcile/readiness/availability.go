package readiness

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/child"
)

// Availability decides whether an object counts as available during a rollout.
type Availability struct {
	Settling *Settling
	Judge    *Judge
	Now      time.Time
}

// Of reports whether the object is available.
func (a *Availability) Of(l *child.Live) bool {
	return a.Judge.Of(l.Entry, l.Object) == Ready && a.Settles(l) == 0
}

// Settles returns how long an object does not count as available yet, because its status may lag.
func (a *Availability) Settles(l *child.Live) time.Duration {
	left := a.Settling.left(l.Object.UID(), a.Now)
	if left == 0 || !MayLag(l.Object.Content(), l.Kind.Status != nil) {
		return 0
	}
	return left
}

// SettleTime is how long a changed object does not count as available if its status may lag: see MayLag.
const SettleTime = 5 * time.Second

// Settling records which objects of rollouts changed recently, according to local time and the writes of this process only. Objects that another
// process changed count as changed just before this process began to write. It is safe for concurrent use.
type Settling struct {
	mu      sync.Mutex
	began   time.Time
	changed map[types.UID]time.Time // within SettleTime, or not yet removed
	swept   time.Time
}

// Begin records that another process may have written until now.
func (s *Settling) Begin(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = now
}

// Note records that an object was changed.
func (s *Settling) Note(object types.UID, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = map[types.UID]time.Time{}
	}
	if now.Sub(s.swept) >= SettleTime {
		for other, at := range s.changed {
			if now.Sub(at) >= SettleTime {
				delete(s.changed, other)
			}
		}
		s.swept = now
	}
	s.changed[object] = now
}

// left returns how long the object still counts as unavailable, or 0.
func (s *Settling) left(object types.UID, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.changed[object]
	if !ok {
		at = s.began
	}
	return min(SettleTime, max(0, SettleTime-now.Sub(at)))
}
