package gate

import (
	"fmt"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// obstacle is an entry that another one waits for.
type obstacle struct {
	entry  string
	unmet  []unmet // objects that are not as they should be; none where the entry itself waits or has a fault
	faulty bool
	judge  *readiness.Judge
}

// unmet is an object that is not there, not as its template says, or not ready.
type unmet struct {
	wanted   *child.Wanted
	outdated bool
}

// look returns why entries cannot begin that wait for that one, which does not wait itself, and whether there is anything.
func look(entry string, d *child.Desired, judge *readiness.Judge) (obstacle, bool) {
	o := obstacle{entry: entry, judge: judge}
	if o.faulty = !d.Sound(entry); o.faulty {
		return o, true
	}
	for _, w := range d.Wanted {
		if w.Entry.Name != entry {
			continue
		}
		old := w.Live != nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(w.Live.Object)
		if w.Live == nil || old || judge.Of(entry, w.Live.Object) != readiness.Ready {
			o.unmet = append(o.unmet, unmet{w, old})
		}
	}
	return o, len(o.unmet) > 0
}

// Waits returns what is to be told of entries that are held back: of those that cannot be rendered, of those of which
// something was held, and of those that these wait for.
func (g *Gates) Waits(held map[string]bool) problem.List {
	if g == nil {
		return nil
	}
	var waits problem.List
	told := map[string]bool{} // what they wait for
	for _, c := range slices.Backward(g.closed) {
		if told[c.entry] || held[c.entry] || g.isUnrendered(c.entry) {
			told[c.obstacle.entry] = true
			waits = append(waits, &problem.Problem{Reason: v1.ReasonWaiting, Waiting: true, Message: c.String()})
		}
	}
	slices.Reverse(waits)
	return waits
}

// String says who waits for whom, and what that lacks.
func (c closed) String() string {
	text := fmt.Sprintf("children[%s] waits for children[%s]", c.entry, c.obstacle.entry)
	switch {
	case len(c.unmet) > 0:
		text += ": " + problem.JoinFunc(c.unmet, c.why)
	case c.faulty:
		text += ", of which it is not known what it yields"
	}
	return text
}

// why says what an object lacks.
func (o obstacle) why(u unmet) string {
	switch {
	case u.wanted.Live == nil:
		return u.wanted.ID().String() + ": not there yet"
	case u.outdated && !u.wanted.Live.Object.Deleting() && u.wanted.Entry.UpdateStrategy.Type == v1.UpdateOnDelete:
		return u.wanted.ID().String() + ": out of date, delete it to have it made anew"
	case u.outdated && !u.wanted.Live.Object.Deleting():
		return u.wanted.ID().String() + ": not as its template says yet"
	}
	return u.wanted.ID().String() + ": " + o.judge.Why(o.entry, u.wanted.Live.Object)
}
