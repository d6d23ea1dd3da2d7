package reconcile

import (
	"context"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// Report is what one reconciliation of a parent decided and did.
type Report struct {
	// Assume reports whether a child counts as ready although its readyWhen is not true. It is asked, not reported; nil is for none.
	Assume func(o *object.Object) bool

	Problems problem.List
	Verdict  status.Verdict
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

// ReconcileAndReport is Reconcile, and fills the report.
func (r *Reconciler) ReconcileAndReport(ctx context.Context, key queue.Key, report *Report) Result {
	return r.reconcile(ctx, key, report)
}

// wrote records a write. A nil Report records nothing.
func (r *Report) wrote(verb plan.Verb, entry string, id child.ID) {
	if r != nil {
		r.Writes = append(r.Writes, Write{verb, entry, id})
	}
}

// wroteParent records a write to the parent.
func (r *Report) wroteParent(rec *reconciliation, verb plan.Verb) {
	r.wrote(verb, "", child.ID{Kind: rec.GVK.GroupKind(), Name: rec.key.Parent})
}

// timedOut records that the parent is released before its cleanup is done.
func (r *Report) timedOut() {
	if r != nil {
		r.TimedOut = true
	}
}

// status records the status that is to be written.
func (r *Report) status(rec *reconciliation, content map[string]any, v status.Verdict) {
	if r == nil {
		return
	}
	if r.Verdict = v; rec.Kind.Status != nil {
		r.Status = content
	}
}

// assume counts children as ready that are assumed to be.
func (r *Report) assume(judge *readiness.Judge, observed []*child.Live) {
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

// fillReport records what is known at the end.
func (rec *reconciliation) fillReport() {
	r := rec.report
	if r == nil {
		return
	}
	r.Problems = rec.problems
	if r.Verdict == (status.Verdict{}) {
		r.Verdict = rec.status.verdict()
	}
	if rec.Rejected || rec.SyncingRelated() || rec.inputs.selectRelated() != nil {
		return
	}
	r.Related = map[string][]*object.Object{}
	for i, e := range rec.Related {
		r.Related[e.Name] = rec.inputs.objects(i)
	}
}
