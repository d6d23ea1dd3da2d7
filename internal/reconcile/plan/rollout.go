package plan

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Rollout is how far the objects of an entry are that changes a few of them at a time, while some of them are out of date.
type Rollout struct {
	Entry   *v1.Child
	Objects int // that are desired
	Current int // of these, that exist and are up to date
	Most    int // of these, that may be unavailable
	// Unavailable are those that are missing, being deleted, or not available otherwise, in the order of the templates.
	Unavailable []*child.Wanted

	free  int      // how many more may be made unavailable
	later []Action // what waits for that
}

// Free reports whether more may be made unavailable.
func (r Rollout) Free() bool { return r.free > 0 }

// Rollouts returns the rollouts in progress of desired children that are paired with observed ones. It calls available for objects that
// exist and are not being deleted, and only if there is a rollout.
func Rollouts(wanted []*child.Wanted, available func(*child.Live) bool) []Rollout {
	var out []Rollout
	for _, w := range wanted {
		if spec.Rolls(w.Entry) && there(w) && w.Changes(w.Live.Object) && of(out, w.Entry) == nil {
			out = append(out, Rollout{Entry: w.Entry})
		}
	}
	for i := range out {
		out[i].count(wanted, available)
	}
	return out
}

// there reports whether an object is there to stay.
func there(w *child.Wanted) bool { return w.Live != nil && !w.Live.Object.Deleting() }

// of returns the rollout of an entry, or nil.
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
		if there(w) && !w.Changes(w.Live.Object) {
			r.Current++
		}
		if !there(w) || !available(w.Live) {
			r.Unavailable = append(r.Unavailable, w)
		}
	}
	r.Most = spec.MostUnavailable(r.Entry.UpdateStrategy.RollingUpdate, r.Objects)
	r.free = r.Most - len(r.Unavailable)
}

// defers reports whether a rollout leaves the change of an object that is out of date for later, and counts it. What is
// unavailable as it is makes nothing worse.
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

// later keeps a change that is deferred.
func (p *Plan) later(a Action) {
	r := of(p.rollouts, a.Wanted.Entry)
	r.later = append(r.later, a)
}

// GoOn takes note that the child of an action is available already, and so adds a change to Apply that was deferred until
// then, if there is one.
func (p *Plan) GoOn(after Action) {
	r := of(p.rollouts, after.Wanted.Entry)
	if r == nil || after.Live != nil && (after.Verb != Update || !after.Wanted.Changes(after.Live.Object)) {
		return // what is repaired has made room for nothing
	}
	if r.free++; r.free > 0 && len(r.later) > 0 {
		p.Apply = append(p.Apply, r.later[0])
		r.free, r.later = r.free-1, r.later[1:]
		p.Deferred--
		p.Pending--
	}
}

// Rolling returns how many objects are changed a few at a time.
func Rolling(all []*child.Wanted) int {
	n := 0
	for _, w := range all {
		if spec.Rolls(w.Entry) {
			n++
		}
	}
	return n
}
