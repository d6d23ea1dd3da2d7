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
func (rec *reconciliation) rolls() bool {
	for i := range rec.entries {
		if spec.Rolls(&rec.entries[i]) {
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
func (rec *reconciliation) availability(observed []*child.Live) func(*child.Live) bool {
	if !rec.rolls() {
		return nil
	}
	return rec.available(rec.judge(observed))
}

// goOn has the rollout of an entry go on, where it need not wait for an object that has just been written.
func (rec *reconciliation) goOn(a plan.Action, after *object.Object) {
	entry := a.Wanted.Entry
	if spec.Rolls(entry) && rec.available(rec.judged)(&child.Live{Entry: entry.Name, Kind: a.Wanted.Kind, Object: after}) {
		rec.plan.GoOn(a)
	}
}

// rollsOn reports whether a rollout need not wait after what the pass has written, of which no watch tells.
func (rec *reconciliation) rollsOn() bool {
	return rec.free && rec.plan.Deferred > 0 && rec.written.Children
}

// available returns what tells whether an object can be counted on while others are changed.
func (rec *reconciliation) available(judge *readiness.Judge) func(*child.Live) bool {
	return func(l *child.Live) bool {
		return judge.Of(l.Entry, l.Object) == readiness.Ready && rec.settles(l) == 0
	}
}

// settles returns for how long an object is not to be counted on yet, because its status may lag.
func (rec *reconciliation) settles(l *child.Live) time.Duration {
	if rec.now.IsZero() { // the same time for the whole pass: what waits now is looked at again
		rec.now = rec.r.Clock.Now()
	}
	left := rec.r.settling.left(l.Object.UID(), rec.now)
	if left == 0 || !readiness.MayLag(l.Object.Content(), l.Kind.Status != nil) {
		return 0
	}
	return left
}

// takeCensus looks at the children that are wanted, and at the rollouts under way. It notes when to look at these again where nothing
// tells.
func (rec *reconciliation) takeCensus(all []*child.Wanted, observed []*child.Live, judge *readiness.Judge) census.Census {
	c := census.Of(all, observed, judge)
	if !rec.rolls() {
		return c
	}
	c.Rollouts = census.Rollouts(all, rec.available(judge), judge)
	for _, r := range c.Rollouts {
		rec.free = rec.free || r.Free()
		for _, w := range r.Unavailable {
			if w.Live != nil && judge.Of(w.Entry.Name, w.Live.Object) == readiness.Ready { // else the watch tells
				rec.settling = min(cmp.Or(rec.settling, settleTime), rec.settles(w.Live))
			}
		}
	}
	return c
}
