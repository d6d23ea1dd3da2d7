package reconcile

import (
	"cmp"
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// rolls reports whether any entry changes a few objects at a time.
func (p *pass) rolls() bool {
	for i := range p.entries {
		if spec.Rolls(&p.entries[i]) {
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

// availability returns what tells whether an object can be counted on while others are changed, nil where no entry asks.
func (p *pass) availability(observed []*child.Live) func(*child.Live) bool {
	if !p.rolls() {
		return nil
	}
	return p.available(p.judge(observed))
}

// goOn has the rollout of an entry go on, where it need not wait for an object that has just been written.
func (p *pass) goOn(a plan.Action, after *object.Object) {
	entry := a.Wanted.Entry
	if spec.Rolls(entry) && p.available(p.judged)(&child.Live{Entry: entry.Name, Kind: a.Wanted.Kind, Object: after}) {
		p.plan.GoOn(a)
	}
}

// rollsOn reports whether a rollout need not wait after what the pass has written, of which no watch tells.
func (p *pass) rollsOn() bool { return p.free && p.plan.Deferred > 0 && p.written.Children }

// available returns what tells whether an object can be counted on while others are changed.
func (p *pass) available(judge *readiness.Judge) func(*child.Live) bool {
	return func(l *child.Live) bool {
		return judge.Of(l.Entry, l.Object) == readiness.Ready && p.settles(l) == 0
	}
}

// settles returns for how long an object is not to be counted on yet, because its status may lag.
func (p *pass) settles(l *child.Live) time.Duration {
	if p.now.IsZero() { // the same time for the whole pass: what waits now is looked at again
		p.now = p.r.clock.Now()
	}
	left := p.r.settling.left(l.Object.UID(), p.now)
	if left == 0 || !readiness.MayLag(l.Object.Content(), l.Kind.Status != nil) {
		return 0
	}
	return left
}

// takeCensus looks at the children that are wanted, and at the rollouts under way. It notes when to look at these again where nothing
// tells.
func (p *pass) takeCensus(all []*child.Wanted, observed []*child.Live, judge *readiness.Judge) census.Census {
	c := census.Of(all, observed, judge)
	if !p.rolls() {
		return c
	}
	c.Rollouts = census.Rollouts(all, p.available(judge), judge)
	for _, r := range c.Rollouts {
		p.free = p.free || r.Free()
		for _, w := range r.Unavailable {
			if w.Live != nil && judge.Of(w.Entry.Name, w.Live.Object) == readiness.Ready { // else the watch tells
				p.settling = min(cmp.Or(p.settling, settleTime), p.settles(w.Live))
			}
		}
	}
	return c
}
