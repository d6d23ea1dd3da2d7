package reconcile

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/measure"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// outcome returns what became of a pass over a parent that was looked at.
func (rec *reconciliation) outcome() measure.Outcome {
	outcome := measure.Succeeded
	for _, issue := range rec.problems {
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
