package reconcile

import (
	"context"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// makePlan plans the pass. Nothing is removed by what may be superseded.
func (p *pass) makePlan(ctx context.Context, s plan.Input) plan.Plan {
	p.behind = !running.Readable(p.Controllers)
	s.Complete = len(p.problems) == 0 && p.Complete(p.key.Parent.Namespace) && p.RelatedComplete()
	p.sure = s.Complete
	out := plan.Make(s)
	if len(out.Remove) == 0 || p.r.controllers.MayPrune(ctx, p.Controller) {
		return out
	}
	p.problems = append(p.problems, p.superseded())
	s.Complete = false
	return plan.Make(s)
}

// superseded says that nothing is deleted because there may be another spec by now.
func (p *pass) superseded() *problem.Problem {
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: "waiting for what is new in TemplateController " + p.Name}
}
