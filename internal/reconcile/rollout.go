package reconcile

import (
	"cmp"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// rolls reports whether any template changes a few objects at a time.
func (c *convergence) rolls() bool {
	for i := range c.templates {
		if spec.Rolls(&c.templates[i]) {
			return true
		}
	}
	return false
}

// rolling returns how many objects are changed a few at a time.
func rolling(all []*child.Wanted) int {
	n := 0
	for _, w := range all {
		if spec.Rolls(w.Entry) {
			n++
		}
	}
	return n
}

// availability decides whether an object is available while others are changed.
type availability struct {
	settling *settling
	judge    *readiness.Judge
	now      time.Time
}

// availability is nil where no template needs it. It has one time for the whole reconciliation: what waits now is reconciled again.
func (c *convergence) availability() *availability {
	if !c.rolls() {
		return nil
	}
	if c.now.IsZero() {
		c.now = c.r.Clock.Now()
	}
	return &availability{&c.r.settling, c.inputs.judge(c.observed), c.now}
}

// of reports whether the object is available.
func (a *availability) of(l *child.Live) bool {
	return a.judge.Of(l.Entry, l.Object) == readiness.Ready && a.settles(l) == 0
}

// settles returns for how long an object does not count as available yet, because its status may lag.
func (a *availability) settles(l *child.Live) time.Duration {
	left := a.settling.left(l.Object.UID(), a.now)
	if left == 0 || !readiness.MayLag(l.Object.Content(), l.Kind.Status != nil) {
		return 0
	}
	return left
}

// count counts the desired children, and follows the rollouts in progress: it sees to it that the parent is reconciled again for a rollout
// that may go on, where no watch reports that.
func (c *convergence) count(all []*child.Wanted, judge *readiness.Judge) status.ChildSummary {
	out := status.SummarizeChildren(all, c.observed, judge)
	available := c.availability()
	if available == nil {
		return out
	}
	out.Rollouts = status.Rollouts(all, available.of, judge)
	for _, r := range out.Rollouts {
		if r.Free() && c.plan.Deferred > 0 && c.guard.written.Children {
			c.next.Again = true // after own writes
		}
		for _, w := range r.Unavailable {
			if w.Live != nil && judge.Of(w.Entry.Name, w.Live.Object) == readiness.Ready { // else the watch reports it
				c.next.After = min(cmp.Or(c.next.After, settleTime), available.settles(w.Live))
			}
		}
	}
	return out
}

// settleTime is how long a changed object does not count as available while its status may lag: see readiness.MayLag.
const settleTime = 5 * time.Second

// settling records which objects of rollouts were changed recently, by the clock and the writes of this process alone. Objects that
// another process changed count as changed just before this one began.
type settling struct {
	mu      sync.Mutex
	began   time.Time
	changed map[types.UID]time.Time // not longer ago than settleTime, except for some that were not removed yet
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
