package census

import (
	"fmt"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// Rollout is how far the objects of an entry are that changes a few of them at a time.
type Rollout struct {
	plan.Rollout
	waits  []unready // for these
	failed int       // of these, have failed for good
}

// Rollouts returns those under way. available is as for [plan.Rollouts].
func Rollouts(all []*child.Wanted, available func(*child.Live) bool, judge *readiness.Judge) []Rollout {
	var out []Rollout
	for _, each := range plan.Rollouts(all, available) {
		r := Rollout{Rollout: each}
		for _, w := range each.Unavailable {
			u := unready{wanted: w, judge: judge}
			if w.Live != nil {
				u.object = w.Live.Object
				if judge.Of(w.Entry.Name, w.Live.Object) == readiness.Failed {
					r.failed++
				}
			}
			r.waits = append(r.waits, u)
		}
		out = append(out, r)
	}
	return out
}

// String says how far it is, and what it waits for.
func (r Rollout) String() string {
	text := fmt.Sprintf("children[%s]: rollout: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
	if len(r.waits) > 0 {
		text += ", waits for " + problem.JoinFunc(r.waits, unready.String)
	}
	return text
}

// Halted reports whether it does not go on by itself: as many objects as may be unavailable have failed.
func (r Rollout) Halted() bool { return r.failed >= r.Most }
