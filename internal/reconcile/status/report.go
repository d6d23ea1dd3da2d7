package status

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// Report is what one reconciliation of a parent decided and did.
type Report struct {
	// Assume reports whether a child counts as ready although its readyWhen is not true. It is asked, not reported; nil is for none.
	Assume func(o *object.Object) bool

	Problems problem.List
	Verdict  Verdict
	// Status is that of the parent with the ready condition, as it was to be written; nil where nothing was to be written.
	Status map[string]any
	// Desired is what the templates yield, empty where none was rendered.
	Desired child.Desired
	// Related are the related objects that the templates see, by child template; nil where they are not known.
	Related map[string][]*object.Object
	Writes  []Write
	// Assumed is whether a child counted as ready by Assume alone.
	Assumed bool
	// TimedOut is whether the parent was released before its cleanup was done.
	TimedOut bool
}

// Write is an accepted write.
type Write struct {
	Verb  plan.Verb
	Entry string // the child template; "" for the parent
	ID    child.ID
}

// Verbs of writes to the parent.
const (
	WriteStatus     plan.Verb = "status"
	RemoveFinalizer plan.Verb = "remove finalizer"
)

// Wrote records a write. A nil Report records nothing.
func (r *Report) Wrote(verb plan.Verb, entry string, id child.ID) {
	if r != nil {
		r.Writes = append(r.Writes, Write{verb, entry, id})
	}
}

// EndsEarly records that the parent is released before its cleanup is done.
func (r *Report) EndsEarly() {
	if r != nil {
		r.TimedOut = true
	}
}

// Plans records the status that is to be written; nil where the parent can have none.
func (r *Report) Plans(content map[string]any, v Verdict) {
	if r != nil {
		r.Verdict, r.Status = v, content
	}
}

// CountAssumed counts children as ready that are assumed to be.
func (r *Report) CountAssumed(judge *readiness.Judge, observed []*child.Live) {
	if r == nil || r.Assume == nil {
		return
	}
	for _, l := range observed {
		if r.Assume(l.Object) {
			r.Assumed = r.Assumed || judge.Of(l.Entry, l.Object) != readiness.Ready
			judge.Assume(l.Object)
		}
	}
}
