package census

import (
	"fmt"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Verdict is what the ready condition says.
type Verdict struct{ Status, Reason, Message string }

// Verdict says whether the parent is ready, by the problems of the pass and by what was planned.
func (c Census) Verdict(problems problem.List, p *plan.Plan) Verdict {
	switch issue := problems.First(); {
	case issue != nil:
		return Verdict{"False", issue.Reason, problems.Message()}
	case p.Outdated > 0:
		return Verdict{"False", v1.ReasonOutdated, fmt.Sprintf("%d of %d children are out of date: delete them to have them made anew", p.Outdated, c.Wanted)}
	case p.Pending > 0 || c.Ready < c.Wanted:
		return Verdict{"False", v1.ReasonProgressing, c.Progress()}
	}
	return Verdict{"True", v1.ReasonReady, fmt.Sprintf("all children are ready: %d", c.Wanted)}
}

// Problem says which children have failed, or returns nil.
func (c Census) Problem() *problem.Problem {
	if len(c.Failing) == 0 {
		return nil
	}
	return problem.Newf(v1.ReasonChildFailing, "%s", c.Failure())
}
