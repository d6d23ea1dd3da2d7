package reconcile

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/rights"
)

// answerOf returns what the error of a write means.
func answerOf(err error) measure.Answer {
	switch {
	case err == nil:
		return measure.Accepted
	case stale(err), apierrors.IsAlreadyExists(err):
		return measure.Conflict
	case rights.Denied(err):
		return measure.Forbidden
	case problem.Unanswered(err):
		return measure.NoAnswer
	}
	return measure.Rejected
}

// outcome returns what became of a pass over a parent that was looked at.
func (p *pass) outcome() measure.Outcome {
	outcome := measure.Succeeded
	for _, issue := range p.problems {
		switch {
		case issue.Waiting:
			outcome = max(outcome, measure.Waiting)
		case issue.Reason != v1.ReasonChildFailing: // which is not for templater to see to
			outcome = measure.Failed
		}
	}
	return outcome
}

// outcomeOfLeaving returns what became of a pass over a parent that is not there.
func outcomeOfLeaving(result Result) measure.Outcome {
	switch {
	case result.Retry == problem.RetryBackoff:
		return measure.Failed
	case result.Retry != problem.RetryOnChange || result.After > 0:
		return measure.Waiting
	}
	return measure.Succeeded
}
