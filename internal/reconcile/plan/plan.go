// Package plan decides which children of a parent to create, change and delete, and in which order. Pure.
package plan

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Verb is what to do with a child.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Mark   Verb = "mark" // leaves all but the marks alone
	Seal   Verb = "seal" // renews the seal of what no entry of spec.children knows
	Delete Verb = "delete"
)

// Action is one write.
type Action struct {
	Verb   Verb
	Wanted *child.Wanted // nil to delete and to seal
	Live   *child.Live   // nil to create
	// Drift is the path of a field that somebody else has taken, "" for
	// other reasons.
	Drift string
	// Foreground deletes the dependents before the object.
	Foreground bool
	// Unchanged deletes the object only at the resource version of Live.
	Unchanged bool
}

// Plan is the difference between what is there and what should be.
type Plan struct {
	// Apply comes first: all but Delete.
	Apply []Action
	// Remove comes after all of Apply has succeeded.
	Remove []Action
	// Outdated counts children that their strategy leaves as they are.
	Outdated int
	// Pending counts children that are not made or changed yet: they wait for others to be gone, or to be ready.
	Pending int
	// Deferred counts those of them that a rollout leaves for later.
	Deferred int

	rollouts []Rollout
	// Held are the entries of which something waits for other entries; nil is for none.
	Held map[string]bool
}

// Input is what a plan is made of.
type Input struct {
	Entries child.Entries
	Wanted  []*child.Wanted // and Live: see child.Desired.Pair
	Live    []*child.Live
	Maker   *child.Maker
	// Complete is whether Wanted and Live are all that there is. If not, nothing
	// is removed.
	Complete     bool
	Dependencies *Dependencies // nil where no entry waits for another
	// Available reports whether an object that is there can be counted on while others are changed. It is asked about
	// objects of entries with rollingUpdate alone, and may be nil where there is no such entry.
	Available func(*child.Live) bool
}

// Make returns the plan that makes the live children match the desired ones.
func Make(in Input) Plan {
	blocked := in.blocked()
	p := Plan{rollouts: Rollouts(in.Wanted, in.Available)}
	for _, w := range in.Wanted {
		switch {
		case w.Live == nil && in.Dependencies.Blocks(w.Entry.Name):
			p.hold(w)
		case w.Live == nil:
			p.create(w, blocked[w.Entry.Name])
		default:
			in.update(&p, w, w.Live)
		}
	}
	for _, l := range in.Live {
		if l.Wanted == nil {
			in.prune(&p, l)
		}
	}
	return p
}

// create plans for a desired child that does not exist. blocked is whether it waits.
func (p *Plan) create(w *child.Wanted, blocked bool) {
	if blocked {
		p.Pending++
		return
	}
	p.Apply = append(p.Apply, Action{Verb: Create, Wanted: w})
}

// hold leaves a desired child as it is, until what its child template waits for is ready.
func (p *Plan) hold(w *child.Wanted) {
	p.Pending++
	if p.Held == nil {
		p.Held = map[string]bool{}
	}
	p.Held[w.Entry.Name] = true
}

// update plans for a desired child that exists.
func (in Input) update(p *Plan, w *child.Wanted, l *child.Live) {
	if l.Object.Deleting() {
		p.Pending++
		return
	}
	old, marked := w.Outdated(l.Object), !w.NeedsMark(l.Object)
	switch strategy := w.Entry.UpdateStrategy.Type; {
	case old && in.held(w):
		p.hold(w)
	case strategy == v1.UpdateCreateOnly:
	case strategy == v1.UpdateOnDelete:
		if old {
			p.Outdated++
		}
	case strategy == v1.UpdateRecreate:
		switch {
		case !old:
		case !w.Replaceable(l.Object): // nothing proves what it was made from
			p.Outdated++
		default:
			p.Pending++
			if in.Complete && !p.defers(in, w) {
				p.Remove = append(p.Remove, Action{Verb: Delete, Live: l, Foreground: true})
				return
			}
		}
	case old && p.defers(in, w):
		p.Pending++
		p.later(Action{Verb: Update, Wanted: w, Live: l})
	default: // Apply
		if old || !marked {
			p.Apply = append(p.Apply, Action{Verb: Update, Wanted: w, Live: l})
		} else if path := w.Drift(l.Object); path != "" {
			p.Apply = append(p.Apply, Action{Verb: Update, Wanted: w, Live: l, Drift: path})
		} else if w.Marks.KeyOutdated(l.Object) {
			p.Apply = append(p.Apply, Action{Verb: Mark, Wanted: w, Live: l})
		}
		return
	}
	if !marked || w.Marks.KeyOutdated(l.Object) {
		p.Apply = append(p.Apply, Action{Verb: Mark, Wanted: w, Live: l})
	}
}

// held reports whether a child that is out of date waits for other entries before it changes.
func (in Input) held(w *child.Wanted) bool {
	strategy := w.Entry.UpdateStrategy.Type
	return strategy != v1.UpdateCreateOnly && strategy != v1.UpdateOnDelete && in.Dependencies.Blocks(w.Entry.Name)
}

// blocked returns the child templates whose Recreate strategy creates nothing until the objects that it replaces
// are deleted: all of them are deleted first, unless they are rolled out.
func (in Input) blocked() map[string]bool {
	if !slices.ContainsFunc(in.Entries, func(c v1.Child) bool { return recreates(&c) }) {
		return nil
	}
	blocked := map[string]bool{}
	for _, l := range in.Live {
		entry := in.Entries.Of(l)
		if !recreates(entry) || spec.Rolls(entry) {
			continue
		}
		if l.Wanted == nil && entry.PrunePolicy != v1.PruneOrphan || l.Wanted != nil && l.Wanted.Replaceable(l.Object) {
			blocked[entry.Name] = true
		}
	}
	return blocked
}

// recreates reports whether the children of an entry have the Recreate strategy; nil has none.
func recreates(entry *v1.Child) bool {
	return entry != nil && entry.UpdateStrategy.Type == v1.UpdateRecreate
}
