package record

import (
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
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

// Discard is for an operator that nobody measures.
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

// Parents tells nobody.
func (Discard) Parents(v1.ParentCounts) {}

// Ready tells nobody.
func (Discard) Ready(bool) {}
