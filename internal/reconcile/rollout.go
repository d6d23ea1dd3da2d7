package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/seal"
	"github.com/templater-dev/templater/internal/spec"
)

// settleTime is how long a changed object is not counted on while its status may lag: see readiness.MayLag.
const settleTime = 5 * time.Second

// carryOut plans what is to be done about the children, and does it. It goes on as long as a rollout needs to wait for nothing:
// some objects are ready as soon as they are changed.
func (p *pass) carryOut(ctx context.Context, d *child.Desired, s sight, wanted []*child.Wanted) {
	for deferred := math.MaxInt; ; {
		in := plan.Input{Entries: p.entries, Wanted: wanted, Live: p.ofEntries(s.observed), Maker: d.Maker, Gates: s.gates}
		if p.rolls() {
			in.Available = p.available(p.judge(s.observed))
		}
		p.plan = p.makePlan(ctx, in)
		if done := p.act(ctx); !done || p.plan.Deferred == 0 || p.plan.Deferred >= deferred {
			return
		}
		deferred = p.plan.Deferred
		s.observed, p.judged = p.observe(), nil
		d.Pair(s.observed)
	}
}

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
	applied := seal.Read(l.Object.Annotation(v1.AnnotationSeal)).Applied
	left := min(settleTime-p.Factory.Seals.ServerTime(p.now).Sub(applied), settleTime)
	if left <= 0 || !readiness.MayLag(l.Object.Content(), l.Kind.Status != nil) {
		return 0
	}
	return left
}

// rollout is how far the objects of an entry are.
type rollout struct {
	plan.Rollout
	waits  []unready // for these
	failed int       // of these, have failed for good
}

// rollouts returns those under way, and notes when to look at them again where nothing tells.
func (p *pass) rollouts(all []*child.Wanted, judge *readiness.Judge) []rollout {
	if !p.rolls() {
		return nil
	}
	var out []rollout
	for _, each := range plan.Rollouts(all, p.available(judge)) {
		r := rollout{Rollout: each}
		for _, w := range each.Unavailable {
			if w.Live == nil {
				r.waits = append(r.waits, unready{wanted: w, judge: judge})
				continue
			}
			r.waits = append(r.waits, unready{w, w.Live.Object, judge})
			switch judge.Of(w.Entry.Name, w.Live.Object) {
			case readiness.Failed:
				r.failed++
			case readiness.Ready:
				p.settling = min(cmp.Or(p.settling, settleTime), p.settles(w.Live))
			case readiness.InProgress: // the watch tells
			}
		}
		out = append(out, r)
	}
	return out
}

// String says how far it is, and what it waits for.
func (r rollout) String() string {
	text := fmt.Sprintf("children[%s]: rollout: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
	if len(r.waits) > 0 {
		text += ", waits for " + problem.JoinFunc(r.waits, unready.String)
	}
	return text
}

// halted reports whether it does not go on by itself: as many objects as may be unavailable have failed.
func (r rollout) halted() bool { return r.failed >= r.Most }
