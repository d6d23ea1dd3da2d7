package reconcile

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Meters has a Meter for each TemplateController. It must be safe for concurrent use.
type Meters interface {
	// Begin returns the meter of a TemplateController that is new to this operator. What
	// was measured of an earlier one of that name is forgotten.
	Begin(controller string) Meter
	// End forgets what was measured of a TemplateController that is gone.
	End(controller string)
}

// Meter measures the work for one TemplateController. It must be safe for concurrent
// use and quick, and must not allocate: it is used in every pass.
type Meter interface {
	// Pass counts a pass over a parent.
	Pass(outcome Outcome, took time.Duration)
	// TemplateError counts a pass in which a template failed.
	TemplateError()
	// Write counts a request that creates, updates or deletes a child.
	Write(verb Verb, answer Answer)
	// Tripped counts that a parent was slowed down because it was written to again and again.
	Tripped()
	// Parents tells how the parents fare now.
	Parents(now v1.ParentCounts)
	// Ready tells whether the TemplateController is ready now.
	Ready(now bool)
}

// Outcome is what became of a pass. Each pass has one.
type Outcome int

// The outcomes.
const (
	// Skipped is a pass that did not look at the parent: it is suspended, deleted, slowed down, or
	// not to be judged before a cache has synced.
	Skipped Outcome = iota
	// Succeeded is a pass after which the parent is as the templates say, as far as it is for
	// templater to see to it.
	Succeeded
	// Waiting is a pass after which something is still to come, without any fault.
	Waiting
	// Failed is a pass that met a fault: a template's, or a write that was refused.
	Failed
	// Panicked is a pass that met a bug.
	Panicked
	// Outcomes is how many there are.
	Outcomes
)

// Verb is what a write does to a child.
type Verb int

// The verbs.
const (
	Create Verb = iota
	Update
	Delete
	// Verbs is how many there are.
	Verbs
)

// Answer is what the API server answers to a write.
type Answer int

// The answers.
const (
	// Accepted is that it is done.
	Accepted Answer = iota
	// Conflict is that the object is another one, or is there already, or changes at the moment.
	Conflict
	// Forbidden is that templater lacks the right.
	Forbidden
	// Rejected is that the server does not take the object.
	Rejected
	// NoAnswer is that the server failed, is overloaded, or was not reached.
	NoAnswer
	// Answers is how many there are.
	Answers
)

// answerOf returns what the error of a write means.
func answerOf(err error) Answer {
	switch {
	case err == nil:
		return Accepted
	case stale(err), apierrors.IsAlreadyExists(err):
		return Conflict
	case lacksRight(err):
		return Forbidden
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return NoAnswer
	}
	switch code := status.Status().Code; {
	case problem.DoesNotFit(err): // which come as 500
		return Rejected
	case code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == 0:
		return NoAnswer
	}
	return Rejected
}

// unmeasured is for an operator that nobody measures.
type unmeasured struct{}

func (unmeasured) Begin(string) Meter          { return unmeasured{} }
func (unmeasured) End(string)                  {}
func (unmeasured) Pass(Outcome, time.Duration) {}
func (unmeasured) TemplateError()              {}
func (unmeasured) Write(Verb, Answer)          {}
func (unmeasured) Tripped()                    {}
func (unmeasured) Parents(v1.ParentCounts)     {}
func (unmeasured) Ready(bool)                  {}

// outcome returns what became of a pass over a parent that was looked at.
func (p *pass) outcome() Outcome {
	outcome := Succeeded
	for _, issue := range p.problems {
		switch {
		case issue.Waiting:
			outcome = max(outcome, Waiting)
		case issue.Reason != v1.ReasonChildFailing: // which is not for templater to see to
			outcome = Failed
		}
	}
	return outcome
}

// outcomeOfLeaving returns what became of a pass over a parent that is not there.
func outcomeOfLeaving(result Result) Outcome {
	switch {
	case result.Retry == problem.RetryBackoff:
		return Failed
	case result.Retry != problem.RetryOnChange || result.After > 0:
		return Waiting
	}
	return Succeeded
}
