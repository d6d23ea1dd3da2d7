package status

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// Report is the result of one reconciliation of a parent: decisions and writes.
type Report struct {
	// Assume reports whether a child counts as ready although its readyWhen is not true. It is an input; nil assumes nothing.
	Assume func(o *object.Object) bool

	Problems problem.List
	Verdict  Verdict
	// Status is the parent's status to be written, including the ready condition; nil if nothing was to be written.
	Status map[string]any
	// Templates are the rendered child templates, with their Order. Desired is the result. All are empty if none was rendered.
	Templates child.Entries
	Order     *spec.Order
	Desired   child.Desired
	// Related are the related objects that the templates see, by related entry; nil if they are not known.
	Related map[string][]*object.Object
	Writes  []Write
	// Assumed is true if a child counted as ready only because of Assume.
	Assumed bool
	// TimedOut is true if the parent was released before its cleanup was complete.
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

// EndsEarly records that the parent is released before its cleanup is complete.
func (r *Report) EndsEarly() {
	if r != nil {
		r.TimedOut = true
	}
}

// Plans records the status to be written; nil if the parent has no status.
func (r *Report) Plans(content map[string]any, v Verdict) {
	if r != nil {
		r.Verdict, r.Status = v, content
	}
}

// CountAssumed marks children as ready in judge if they are assumed to be ready.
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
