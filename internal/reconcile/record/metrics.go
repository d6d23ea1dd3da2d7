package record

import (
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Meters has a Meter for each TemplateController. It must be safe for concurrent use.
type Meters interface {
	// Begin returns the meter of a TemplateController that is new to this operator. What
	// was measured of an earlier one of that name is forgotten.
	Begin(controller string) Meter
	// End drops the metrics of a TemplateController that was deleted.
	End(controller string)
}

// Meter measures the work for one TemplateController. It must be safe for concurrent
// use and fast, and must not allocate: every reconciliation uses it.
type Meter interface {
	// Pass counts a reconciliation of a parent.
	Pass(outcome Outcome, took time.Duration)
	// TemplateError counts a reconciliation in which a template failed.
	TemplateError()
	// Write counts a request that creates, updates or deletes a child.
	Write(verb Verb, answer Answer)
	// Tripped counts that a parent was slowed down because it was written to again and again.
	Tripped()
	// Parents sets the counts of the parents.
	Parents(now v1.ParentCounts)
	// Ready sets whether the TemplateController is ready.
	Ready(now bool)
}

// Outcome is the result of a reconciliation.
type Outcome int

// The outcomes.
const (
	// Skipped is a reconciliation that ended before it observed the parent, which is suspended, deleted, slowed down, or
	// waits until a cache has synced.
	Skipped Outcome = iota
	// Succeeded is a reconciliation after which the children and the status are as the templates say, except for
	// what templater cannot change.
	Succeeded
	// Waiting is a reconciliation without a fault that is not complete yet.
	Waiting
	// Failed is a reconciliation with a fault: a template failed, or a write was refused.
	Failed
	// Panicked is a reconciliation that panicked.
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
	// Forbidden means that a permission is missing.
	Forbidden
	// Rejected is that the server does not take the object.
	Rejected
	// NoAnswer is that the server failed, is overloaded, or was not reached.
	NoAnswer
	// Answers is how many there are.
	Answers
)

// Discard drops all measurements.
type Discard struct{}

// Begin measures nothing.
func (Discard) Begin(string) Meter { return Discard{} }

// End forgets nothing.
func (Discard) End(string) {}

// Pass counts nothing.
func (Discard) Pass(Outcome, time.Duration) {}

// TemplateError counts nothing.
func (Discard) TemplateError() {}

// Write counts nothing.
func (Discard) Write(Verb, Answer) {}

// Tripped counts nothing.
func (Discard) Tripped() {}

// Parents does nothing.
func (Discard) Parents(v1.ParentCounts) {}

// Ready does nothing.
func (Discard) Ready(bool) {}

// OutcomeOf is how the reconciliation of an existing parent with these problems is counted.
func OutcomeOf(problems problem.List) Outcome {
	outcome := Succeeded
	for _, issue := range problems {
		switch {
		case issue.Waiting:
			outcome = max(outcome, Waiting)
		case issue.Reason != v1.ReasonChildFailing: // which templater cannot mend
			outcome = Failed
		}
	}
	return outcome
}
