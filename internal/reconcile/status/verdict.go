package status

import (
	"fmt"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Verdict is the status, reason and message of the ready condition.
type Verdict struct{ Status, Reason, Message string }

// Verdict returns the ready condition for the problems of the reconciliation and its plan.
func (c ChildSummary) Verdict(problems problem.List, p *plan.Plan) Verdict {
	switch issue := problems.First(); {
	case issue != nil && issue.Reason == v1.ReasonSuspended: // the children are not observed
		return Verdict{"Unknown", issue.Reason, issue.Message}
	case issue != nil:
		return Verdict{"False", issue.Reason, problems.Message()}
	case p.Outdated > 0:
		return Verdict{"False", v1.ReasonOutdated, fmt.Sprintf("%d of %d children are out of date: delete them to have them recreated", p.Outdated, c.Wanted)}
	case p.Pending > 0 || c.Ready < c.Wanted:
		return Verdict{"False", v1.ReasonProgressing, c.Progress()}
	}
	return Verdict{"True", v1.ReasonReady, fmt.Sprintf("all children are ready: %d", c.Wanted)}
}

// Problem returns a problem for failed children, or nil.
func (c ChildSummary) Problem() *problem.Problem {
	if len(c.Failing) == 0 {
		return nil
	}
	return problem.Newf(v1.ReasonChildFailing, "%s", c.Failure())
}

// AwaitFinals reports whether the objects of spec.finalize.children, which c summarizes, are ready. current is whether they match their
// templates, and problems are the problems of the reconciliation. If not, it returns the problems to report instead.
func AwaitFinals(c ChildSummary, problems problem.List, current bool) (ready bool, instead problem.List) {
	if len(problems) == 0 && c.Ready == c.Wanted && current {
		return true, nil
	}
	if issue := problems.First(); issue != nil && !issue.Waiting {
		return false, problems
	}
	text := c.Progress()
	switch {
	case len(c.Failing) > 0:
		text = c.Failure() + "; fix that, or " + SkipAdvice
	case len(problems) > 0:
		text = problems.Message()
	}
	return false, problem.List{{
		Reason: v1.ReasonFinalizing, Waiting: len(c.Failing) == 0, Retry: problems.Retry(), Pending: problems.Pending(),
		Message: "being deleted: waiting for spec.finalize.children: " + text,
	}}
}
