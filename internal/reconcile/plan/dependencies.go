package plan

import (
	"cmp"
	"fmt"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Dependencies has the blocked child templates, for one observation of the children. It is immutable; nil means that there are no dependencies.
// While a child template is blocked, none of its objects is created, updated or deleted.
type Dependencies struct {
	order   *spec.Order
	blocked []blockedEntry // a child template comes after its dependencies
	// unrendered are the blocked child templates whose desired objects are not all known.
	unrendered []string
}

// blockedEntry is a child template that waits for another one, and why.
type blockedEntry struct {
	entry string
	obstacle
}

// NewDependencies returns the Dependencies of desired children, which must be paired with observed ones.
func NewDependencies(order *spec.Order, d *child.Desired, judge *readiness.Judge) *Dependencies {
	if order == nil {
		return nil
	}
	g := &Dependencies{order: order}
	for _, entry := range order.Waiting() {
		if o, obstructed := g.nearest(entry, d, judge); obstructed {
			g.blocked = append(g.blocked, blockedEntry{entry, o})
			if slices.Contains(d.Failed, entry) {
				g.unrendered = append(g.unrendered, entry)
			}
		}
	}
	return g
}

// nearest returns the dependency that a child template waits for, if any. It prefers a dependency that is blocked itself, because others may be
// among the dependencies of that one.
func (g *Dependencies) nearest(entry string, d *child.Desired, judge *readiness.Judge) (found obstacle, obstructed bool) {
	names := g.order.DependsOn(entry)
	if i := slices.IndexFunc(names, g.Blocks); i >= 0 {
		return obstacle{entry: names[i]}, true
	}
	for _, name := range names {
		if found, obstructed = obstacleOf(name, d, judge); obstructed {
			break
		}
	}
	return found, obstructed
}

// Blocks reports whether a child template waits for another one.
func (g *Dependencies) Blocks(entry string) bool {
	return g != nil && slices.ContainsFunc(g.blocked, func(c blockedEntry) bool { return c.entry == entry })
}

// sort moves the writes of each child template behind those of its dependencies.
func (g *Dependencies) sort(writes []Action) {
	if g == nil {
		return
	}
	level := func(a Action) int {
		if a.Wanted == nil {
			return 0
		}
		return g.order.Level(a.Wanted.Entry.Name)
	}
	slices.SortStableFunc(writes, func(a, b Action) int { return cmp.Compare(level(a), level(b)) })
}

// Keeps reports whether an object is kept although it is not desired: its child template is blocked, or a blocked child template that is not
// rendered may desire it. An unrendered child template does not keep objects of its dependencies, because it could then wait forever.
func (g *Dependencies) Keeps(l *child.Live) bool {
	if g == nil || len(g.blocked) == 0 {
		return false
	}
	if g.Blocks(l.MadeFrom) {
		return true
	}
	return slices.ContainsFunc(g.unrendered, func(entry string) bool { return !g.order.After(entry, l.MadeFrom) })
}

// Reported returns the faults to report now. A fault of a blocked child template may disappear before the child template is unblocked.
func (g *Dependencies) Reported(all []child.Fault) problem.List {
	var reported problem.List
	for _, f := range all {
		if f.Always || !g.Blocks(f.Entry) {
			reported = append(reported, f.Problem)
		}
	}
	return reported
}

// isUnrendered reports whether the child template is blocked and its desired objects are not all known.
func (g *Dependencies) isUnrendered(entry string) bool { return slices.Contains(g.unrendered, entry) }

// Unblocks reports whether a child template is blocked in g but not in now.
func (g *Dependencies) Unblocks(now *Dependencies) bool {
	return g != nil && slices.ContainsFunc(g.blocked, func(c blockedEntry) bool { return !now.Blocks(c.entry) })
}

// obstacle is a child template that another one waits for.
type obstacle struct {
	entry  string
	unmet  []unmet // objects that are missing, outdated or not ready; empty if the child template is blocked itself or has a fault
	faulty bool
	judge  *readiness.Judge
}

// unmet is an object that is missing, outdated or not ready.
type unmet struct {
	wanted   *child.Wanted
	outdated bool
}

// obstacleOf returns why dependents of a child template are blocked, if they are. The child template must not be blocked itself.
func obstacleOf(entry string, d *child.Desired, judge *readiness.Judge) (obstacle, bool) {
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

// Waits returns a problem for each blocked child template that matters: those that cannot be rendered, those in held, whose changes were held
// back, and those that these depend on.
func (g *Dependencies) Waits(held map[string]bool) problem.List {
	if g == nil {
		return nil
	}
	var waits problem.List
	reported := map[string]bool{} // dependencies of the reported child templates
	for _, c := range slices.Backward(g.blocked) {
		if reported[c.entry] || held[c.entry] || g.isUnrendered(c.entry) {
			reported[c.obstacle.entry] = true
			waits = append(waits, &problem.Problem{Reason: v1.ReasonWaiting, Waiting: true, Message: c.String()})
		}
	}
	slices.Reverse(waits)
	return waits
}

// String describes which child template waits for which, and why.
func (c blockedEntry) String() string {
	text := fmt.Sprintf("children[%s] waits for children[%s]", c.entry, c.obstacle.entry)
	switch {
	case len(c.unmet) > 0:
		text += ": " + problem.JoinFunc(c.unmet, c.why)
	case c.faulty:
		text += ", which has an error"
	}
	return text
}

// why describes what is missing.
func (o obstacle) why(u unmet) string {
	switch {
	case u.wanted.Live == nil:
		return u.wanted.ID().String() + ": does not exist yet"
	case u.outdated && !u.wanted.Live.Object.Deleting() && u.wanted.Entry.UpdateStrategy.Type == v1.UpdateOnDelete:
		return u.wanted.ID().String() + ": out of date, delete it to have it recreated"
	case u.outdated && !u.wanted.Live.Object.Deleting():
		return u.wanted.ID().String() + ": not updated yet"
	}
	return u.wanted.ID().String() + ": " + o.judge.Why(o.entry, u.wanted.Live.Object)
}
