package record

import (
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Meters returns a Meter for each TemplateController. It must be safe for concurrent use.
type Meters interface {
	// Begin returns the meter of a new TemplateController. Metrics of an earlier TemplateController with the same name
	// are dropped.
	Begin(controller string) Meter
	// End drops the metrics of a deleted TemplateController.
	End(controller string)
}

// Meter records metrics of one TemplateController. It must be safe for concurrent use and fast, and must not allocate:
// every reconciliation uses it.
type Meter interface {
	// Reconciled counts a reconciliation of a parent.
	Reconciled(outcome Outcome, took time.Duration)
	// TemplateError counts a reconciliation in which a template failed.
	TemplateError()
	// Write counts a request that creates, updates or deletes a child.
	Write(verb Verb, answer Response)
	// Tripped counts a parent that is slowed down because it is hot-looping: its reconciliations keep writing.
	Tripped()
	// Parents sets the counts of the parents.
	Parents(now v1.ParentCounts)
	// Ready sets whether the TemplateController is ready.
	Ready(now bool)
	// Rollout sets whether the rollout of the newest revision is halted, and whether the newest revision is rejected while the previous one runs.
	Rollout(halted, rejected bool)
}

// Outcome is the result of a reconciliation.
type Outcome int

// The outcomes.
const (
	// Skipped: the reconciliation ended before it observed the parent, which is suspended, deleted, slowed down, or
	// waits for a cache to sync.
	Skipped Outcome = iota
	// Succeeded: the children and the status match the templates, except for failures that templater cannot fix.
	Succeeded
	// Waiting: there were no errors, but something is not ready yet.
	Waiting
	// Failed: there was an error, for example a template failed, or a write was rejected.
	Failed
	// Panicked: the reconciliation panicked.
	Panicked
	// Outcomes is the number of outcomes.
	Outcomes
)

// Verb is the kind of a write to a child.
type Verb int

// The verbs.
const (
	Create Verb = iota
	Update
	Delete
	// Verbs is the number of verbs.
	Verbs
)

// Response is the result of a write request.
type Response int

// The answers.
const (
	// Accepted: the write succeeded.
	Accepted Response = iota
	// Conflict: the object was replaced, already exists, or was modified concurrently.
	Conflict
	// Forbidden: a permission is missing.
	Forbidden
	// Rejected: the API server rejected the object.
	Rejected
	// NoAnswer: the API server failed, is overloaded, or was not reached.
	NoAnswer
	// Answers is the number of answers.
	Answers
)

// Discard discards all metrics.
type Discard struct{}

// Begin returns a meter that discards all metrics.
func (Discard) Begin(string) Meter { return Discard{} }

// End does nothing.
func (Discard) End(string) {}

// Reconciled does nothing.
func (Discard) Reconciled(Outcome, time.Duration) {}

// TemplateError does nothing.
func (Discard) TemplateError() {}

// Write does nothing.
func (Discard) Write(Verb, Response) {}

// Tripped does nothing.
func (Discard) Tripped() {}

// Parents does nothing.
func (Discard) Parents(v1.ParentCounts) {}

// Ready does nothing.
func (Discard) Ready(bool) {}

// Rollout does nothing.
func (Discard) Rollout(bool, bool) {}

// OutcomeOf returns the outcome of reconciling an existing parent with these problems.
func OutcomeOf(problems problem.List) Outcome {
	outcome := Succeeded
	for _, issue := range problems {
		switch {
		case issue.Waiting:
			outcome = max(outcome, Waiting)
		case issue.Reason != v1.ReasonChildFailing: // which templater cannot fix
			outcome = Failed
		}
	}
	return outcome
}
