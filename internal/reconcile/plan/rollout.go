package plan

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Rollout is the progress of a rolling update of a child template.
type Rollout struct {
	Entry   *v1.Child
	Objects int // number of desired objects
	Current int // number of these that exist and are up to date
	Most    int // maximum number of unavailable objects
	// Unavailable are the objects that are missing, being deleted or otherwise unavailable, in the order of the templates.
	Unavailable []*child.Wanted

	free  int      // how many more objects may become unavailable
	later []Action // changes that wait for that
}

// Free reports whether more objects may become unavailable.
func (r Rollout) Free() bool { return r.free > 0 }

// Rollouts returns the rollouts in progress. The desired children must be paired with observed ones. available is called for objects that exist
// and are not being deleted, and only if there is a rollout.
func Rollouts(wanted []*child.Wanted, available func(*child.Live) bool) []Rollout {
	var out []Rollout
	for _, w := range wanted {
		if spec.Rolls(w.Entry) && exists(w) && w.Changes(w.Live.Object) && of(out, w.Entry) == nil {
			out = append(out, Rollout{Entry: w.Entry})
		}
	}
	for i := range out {
		out[i].count(wanted, available)
	}
	return out
}

// exists reports whether an object exists and is not being deleted.
func exists(w *child.Wanted) bool { return w.Live != nil && !w.Live.Object.Deleting() }

// of returns the rollout of a child template, or nil.
func of(all []Rollout, entry *v1.Child) *Rollout {
	i := slices.IndexFunc(all, func(r Rollout) bool { return r.Entry == entry })
	if i < 0 {
		return nil
	}
	return &all[i]
}

func (r *Rollout) count(wanted []*child.Wanted, available func(*child.Live) bool) {
	for _, w := range wanted {
		if w.Entry != r.Entry {
			continue
		}
		r.Objects++
		if exists(w) && !w.Changes(w.Live.Object) {
			r.Current++
		}
		if !exists(w) || !available(w.Live) {
			r.Unavailable = append(r.Unavailable, w)
		}
	}
	r.Most = spec.MaxUnavailable(r.Entry.UpdateStrategy.RollingUpdate, r.Objects)
	r.free = r.Most - len(r.Unavailable)
}

// defers reports whether a rollout defers the change of an outdated object, and counts it. An object that is already unavailable is changed
// immediately.
func (p *Plan) defers(in Input, w *child.Wanted) bool {
	r := of(p.rollouts, w.Entry)
	if r == nil || !in.Available(w.Live) {
		return false
	}
	if r.free > 0 {
		r.free--
		return false
	}
	p.Deferred++
	return true
}

// later stores a deferred change.
func (p *Plan) later(a Action) {
	r := of(p.rollouts, a.Wanted.Entry)
	r.later = append(r.later, a)
}

// ContinueRollout records that the child of an action is already available, and adds the next deferred change, if any, to Apply.
func (p *Plan) ContinueRollout(after Action) {
	r := of(p.rollouts, after.Wanted.Entry)
	if r == nil || after.Live != nil && (after.Verb != Update || !after.Wanted.Changes(after.Live.Object)) {
		return // reverting drift does not make another object available
	}
	if r.free++; r.free > 0 && len(r.later) > 0 {
		p.Apply = append(p.Apply, r.later[0])
		r.free, r.later = r.free-1, r.later[1:]
		p.Deferred--
		p.Pending--
	}
}

// Rolling returns the number of desired children with rolling updates.
func Rolling(all []*child.Wanted) int {
	n := 0
	for _, w := range all {
		if spec.Rolls(w.Entry) {
			n++
		}
	}
	return n
}
