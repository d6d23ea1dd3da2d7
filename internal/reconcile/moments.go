package reconcile

import (
	"context"
	"sync/atomic"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// moments implements the template function after. A moment has passed once a response of the API server has a Date header of that time or
// later. Local time only determines when to send that request.
type moments struct {
	*reconciliation
	wait  time.Duration // until the next moment; 0 = there is none
	due   bool          // whether a moment has passed according to local time only
	asked bool          // whether this reconciliation has asked the API server
	now   time.Time     // what it answered
}

// serverTime is the latest known time of the API server, in seconds since 1970. It is safe for concurrent use.
type serverTime struct{ latest atomic.Int64 }

// advance records a time, unless a later one is known.
func (s *serverTime) advance(to time.Time) {
	for {
		latest := s.latest.Load()
		if latest >= to.Unix() || s.latest.CompareAndSwap(latest, to.Unix()) {
			return
		}
	}
}

// passed reports whether it is this time or later, in seconds since 1970.
func (m *moments) passed(seconds int64) bool {
	if seconds <= m.r.time.latest.Load() {
		return true
	}
	now := m.now
	if now.IsZero() {
		now = m.r.Clock.Now()
	}
	switch left := time.Unix(seconds, 0).Sub(now); {
	case left <= 0:
		m.due = !m.asked
	case m.wait == 0 || left < m.wait:
		m.wait = left
	}
	return false
}

// confirm asks the API server for its time if a moment may have passed, and reports whether templates have to be rendered again.
func (m *moments) confirm(ctx context.Context) bool {
	if !m.due {
		return false
	}
	m.due, m.asked = false, true
	_, date, err := m.Cluster.GetDated(ctx, m.LocateParent(m.key))
	switch {
	case request.MissingObject(err):
		return false // the watch will report it
	case err != nil:
		m.problems = append(m.problems, &problem.Problem{
			Reason: v1.ReasonWaiting, Waiting: true, Retry: problem.RetryBackoff,
			Message: "cannot read the time of the API server, which the function after needs: " + m.Rights.WhyNot(err, m.Rights.Claim(permissions.Parents, m.Kind, m.key.Parent.Namespace)),
		})
		return false
	case date.IsZero():
		m.problems = append(m.problems, &problem.Problem{
			Reason: v1.ReasonWaiting, Waiting: true, Retry: problem.RetrySlow,
			Message: "the function after has no effect: responses of the API server have no Date header; check for a proxy that removes it",
		})
		return false
	}
	m.r.time.advance(date)
	m.now = date
	return true
}
