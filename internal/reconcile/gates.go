package reconcile

import (
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/gate"
)

// gates returns which entries are held back, by what is wanted and what is there.
func (rec *reconciliation) gates(d *child.Desired, observed []*child.Live) *gate.Gates {
	if rec.order == nil {
		return nil
	}
	return gate.Of(rec.order, d, rec.judge(observed))
}

// wait looks again, after the writes, at the entries that were held back, and reports whether the pass is over. If what
// they wait for has become ready by these writes, which no watch tells of, the next pass goes on at once, and the
// status is left to that one.
func (rec *reconciliation) wait(s sight) (over bool) {
	now := s.gates
	if rec.written.Children {
		now = rec.gates(&s.d, s.observed)
	}
	rec.opened = s.gates.Opened(now)
	over = !rec.opened || len(rec.problems) > 0
	rec.problems = append(rec.problems, now.Waits(rec.plan.Held)...)
	return over
}
