package reconcile

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// failedWrite is a write of a child that failed in this reconciliation.
type failedWrite struct {
	entry string // child template
	issue *problem.Problem
	// stops is true if child templates that depend on entry are not updated because of it.
	stops bool
}

// fail records that a write failed. Metadata and objects that have just changed do not stop updates.
func (a *applier) fail(entry *v1.Child, verb plan.Verb, issue *problem.Problem) {
	a.problems = append(a.problems, issue)
	a.failed = append(a.failed, failedWrite{entry.Name, issue, verb != plan.Mark && !issue.Waiting})
}

// cause returns the failed write because of which an existing object is not updated or replaced, or nil.
func (a *applier) cause(w *child.Wanted) *failedWrite {
	i := slices.IndexFunc(a.failed, func(f failedWrite) bool { return f.stops && a.order.After(w.Entry.Name, f.entry) })
	if i < 0 || w.Live == nil || w.Live.Object.Deleting() || !w.Changes(w.Live.Object) {
		return nil
	}
	return &a.failed[i]
}

// mayReplace reports whether an object may be deleted, to be recreated, although writes have failed: none of its own child template, and none
// of those that it depends on.
func (a *applier) mayReplace(w *child.Wanted) bool {
	return w != nil && !slices.ContainsFunc(a.failed, func(f failedWrite) bool {
		return f.entry == w.Entry.Name || a.order.After(w.Entry.Name, f.entry)
	})
}

// reportStopped adds the objects that are not updated to the problems that cause it.
func (a *applier) reportStopped() {
	if len(a.failed) == 0 || a.order == nil {
		return
	}
	for _, w := range a.desired.Wanted {
		if f := a.cause(w); f != nil {
			f.issue.Stopped = append(f.issue.Stopped, w.ID().String()+" (children["+w.Entry.Name+"])")
		}
	}
}
