package reconcile

import (
	"context"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/tally"
)

// reportRejection has a parent report that its TemplateController is not accepted. The rest of its status and its children are kept. The
// text is the same for every rejection, so that an author who tries one edit after the other causes no further write. A parent that can
// hold the condition gets no Event.
func (p *pass) reportRejection(ctx context.Context) Result {
	p.problems = problem.List{{
		Reason:  v1.ReasonTemplateControllerNotAccepted,
		Message: "TemplateController " + p.Name + " is not accepted, so this object is not reconciled: look at the conditions of the TemplateController",
		Waiting: p.HoldsCondition() && !p.foreignCondition(),
	}}
	p.tell(ctx, p.ownStatus(), &tally.Tally{Failed: true, Unobserved: true})
	return p.result()
}
