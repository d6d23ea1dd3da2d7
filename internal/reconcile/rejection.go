package reconcile

import (
	"context"

	"k8s.io/utils/clock"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/census"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/tally"
)

// reportRejection writes into the ready condition of a parent that its TemplateController is not accepted. The rest of its status and its
// children are kept. The message is the same for every rejection, so repeated rejected edits cause no further writes. A parent that can hold
// the condition gets no Event.
func (rec *reconciliation) reportRejection(ctx context.Context) Result {
	foreign, _ := rec.foreignCondition()
	rec.problems = problem.List{{
		Reason:  v1.ReasonTemplateControllerNotAccepted,
		Message: "TemplateController " + rec.Name + " is not accepted, so this object is not reconciled: look at the conditions of the TemplateController",
		Waiting: rec.HoldsCondition() && !foreign,
	}}
	rec.tell(ctx, rec.ownStatus(), &tally.Tally{Failed: true, Unobserved: true})
	return rec.result()
}

// Deletion is what parents report whose TemplateController is deleted.
type Deletion struct {
	Message     string
	Clock       clock.PassiveClock
	Controllers Controllers
}

// ReportDeletion has a parent report that its TemplateController is deleted, where it can hold the condition. The rest of its status is kept. It
// writes nothing where the parent reports that already. The error is that of the server.
func ReportDeletion(ctx context.Context, of *running.Controller, parent *object.Object, d Deletion) error {
	rec := &reconciliation{Controller: of, r: &Reconciler{Options: Options{Clock: d.Clock, Controllers: d.Controllers}}, key: queue.Key{Controller: of.Name, Parent: parent.Key()}, parent: parent}
	return rec.store(ctx, rec.withReady(rec.ownStatus(), census.Verdict{Status: "Unknown", Reason: v1.ReasonTemplateControllerDeleted, Message: d.Message}))
}
