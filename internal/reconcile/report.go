package reconcile

import (
	"context"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// ReconcileAndReport is like Reconcile, and fills the report.
func (r *Reconciler) ReconcileAndReport(ctx context.Context, key queue.Key, report *status.Report) Result {
	return r.reconcile(ctx, key, report)
}

// wroteParent records a write to the parent.
func (rec *reconciliation) wroteParent(verb plan.Verb) {
	rec.report.Wrote(verb, "", child.ID{Kind: rec.GVK.GroupKind(), Name: rec.key.Parent})
}

// fillReport fills the report at the end of the reconciliation.
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
		r.Related[e.Name] = rec.inputs.selected[i].Objects()
	}
}
