// Package plan decides which children of a parent to create, update and delete, and in which order. It has no side effects.
package plan

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Verb is the kind of write.
type Verb string

// The verbs.
const (
	Create Verb = "create"
	Update Verb = "update"
	Mark   Verb = "mark" // only sets templater's metadata: see child.Marks
	Seal   Verb = "seal" // only renews the seal of a child without a child template
	Delete Verb = "delete"
)

// Action is one write.
type Action struct {
	Verb   Verb
	Wanted *child.Wanted // nil for Delete and Seal
	Live   *child.Live   // nil for Create
	// Drift is the path of a field that another client changed, or "".
	Drift string
	// Foreground deletes the dependents before the object.
	Foreground bool
	// Unchanged deletes the object only if it has the resource version of Live.
	Unchanged bool
}

// Plan has the writes that turn the live children into the desired ones.
type Plan struct {
	// Apply has all actions except Delete. They come first. Those of a child template come after those of its dependencies.
	Apply []Action
	// Remove has the deletions, for after all of Apply has succeeded.
	Remove []Action
	// Outdated counts outdated children that the update strategy does not update.
	Outdated int
	// Pending counts children that are not created or updated yet, because they wait for deletions or dependencies.
	Pending int
	// Deferred counts the pending children that a rolling update defers.
	Deferred int

	rollouts []Rollout
	// Held are the child templates with changes that wait for dependencies; nil means none.
	Held map[string]bool
}

// Input is the input of Make.
type Input struct {
	Entries child.Entries
	Wanted  []*child.Wanted // paired with Live: see child.Desired.Pair
	Live    []*child.Live
	Maker   *child.Maker
	// Complete is true if Wanted and Live are complete. Otherwise nothing is deleted.
	Complete     bool
	Dependencies *Dependencies // nil if there are no dependencies
	// Available reports whether an existing object counts as available during a rollout. It is only called for objects of child templates with
	// rollingUpdate, and may be nil if there are none.
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
	in.Dependencies.sort(p.Apply)
	return p
}

// create plans for a desired child that does not exist. blocked is whether it has to wait.
func (p *Plan) create(w *child.Wanted, blocked bool) {
	if blocked {
		p.Pending++
		return
	}
	p.Apply = append(p.Apply, Action{Verb: Create, Wanted: w})
}

// hold leaves a desired child unchanged until the dependencies of its child template are ready.
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
		case !w.Replaceable(l.Object): // nothing proves what it was created from
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
		} else if w.NeedsRenewal(l.Object) {
			p.Apply = append(p.Apply, Action{Verb: Mark, Wanted: w, Live: l})
		}
		return
	}
	if !marked || w.NeedsRenewal(l.Object) {
		p.Apply = append(p.Apply, Action{Verb: Mark, Wanted: w, Live: l})
	}
}

// held reports whether an outdated child waits for dependencies before it is updated.
func (in Input) held(w *child.Wanted) bool {
	strategy := w.Entry.UpdateStrategy.Type
	return strategy != v1.UpdateCreateOnly && strategy != v1.UpdateOnDelete && in.Dependencies.Blocks(w.Entry.Name)
}

// blocked returns the child templates whose Recreate strategy creates nothing until the objects that it replaces are deleted. All of them are
// deleted first, unless the child template has a rollingUpdate.
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

// recreates reports whether a child template has the Recreate strategy. It returns false for nil.
func recreates(entry *v1.Child) bool {
	return entry != nil && entry.UpdateStrategy.Type == v1.UpdateRecreate
}
