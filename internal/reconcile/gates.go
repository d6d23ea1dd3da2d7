package reconcile

import (
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/gate"
)

// gates returns which entries are held back, by what is wanted and what is there.
func (p *pass) gates(d *child.Desired, observed []*child.Live) *gate.Gates {
	if p.order == nil {
		return nil
	}
	return gate.Of(p.order, d, p.judge(observed))
}

// wait looks again, after the writes, at the entries that were held back, and reports whether the pass is over. If what
// they wait for has become ready by these writes, which no watch tells of, the next pass goes on at once, and the
// status is left to that one.
func (p *pass) wait(s sight) (over bool) {
	now := s.gates
	if p.written.Children {
		now = p.gates(&s.d, s.observed)
	}
	p.opened = s.gates.Opened(now)
	over = !p.opened || len(p.problems) > 0
	p.problems = append(p.problems, now.Waits(p.plan.Held)...)
	return over
}
