package readiness

import (
	"slices"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

// rule returns whether a live object is ready according to the readyWhen of its child template, and whether there is one. fault is set if it
// could not be evaluated; the object is not ready then.
type rule func(entry string, o *object.Object) (ready, has bool, fault *problem.Problem)

// Judge decides whether the children of one parent are ready: by the readyWhen of their child template or, if it has none, by their own status.
// It is for one observation of the children, and evaluates each readyWhen once per child. It is not safe for concurrent use. A nil Judge has no
// rule.
type Judge struct {
	rule   rule
	known  map[*object.Object]result
	faults problem.List
}

// newJudge returns a Judge with that rule.
func newJudge(rule rule) *Judge {
	return &Judge{rule: rule, known: map[*object.Object]result{}}
}

// NewJudge returns a Judge with the readyWhen templates of a program, which are rendered with in. It is nil if no child template has one.
func NewJudge(program *render.Program, in *render.Input) *Judge {
	if !program.JudgesReadiness() {
		return nil
	}
	return newJudge(func(entry string, o *object.Object) (ready, has bool, fault *problem.Problem) {
		if !program.HasReadyWhen(entry) {
			return false, false, nil
		}
		ready, err := program.ReadyWhen(entry, func() (map[string]any, error) {
			if err := in.Budget.Spend(o.ContentBytes()); err != nil {
				return nil, err
			}
			return o.Content(), nil
		}, in)
		if err != nil {
			fault = problem.FromTemplate(err)
		}
		return ready, true, fault
	})
}

// Assume counts an object as ready, regardless of the readyWhen of its child template. It is for callers that explore what would happen if it
// were ready. A nil Judge ignores it.
func (j *Judge) Assume(o *object.Object) {
	if j != nil {
		j.known[o] = result{state: Ready}
	}
}

// Of returns the state of a live object of a child template. A terminating object is never ready. If readyWhen is false, the object counts as
// failed if its own status reports a failure.
func (j *Judge) Of(entry string, o *object.Object) State {
	if r, ruled := j.ruled(entry, o); ruled {
		return r.state
	}
	return Of(o)
}

// Why returns a message why the object is not ready, or "". The message contains no field values except a condition reason.
func (j *Judge) Why(entry string, o *object.Object) string {
	if r, ruled := j.ruled(entry, o); ruled {
		return r.why
	}
	return Why(o.Content())
}

// Faults returns why rules could not be evaluated, without duplicates.
func (j *Judge) Faults() problem.List {
	if j == nil {
		return nil
	}
	return j.faults
}

// ruled returns the result of the child template's rule, if it has one.
func (j *Judge) ruled(entry string, o *object.Object) (r result, ruled bool) {
	if j == nil || o.Deleting() {
		return r, false
	}
	if r, ruled = j.known[o]; ruled {
		return r, true
	}
	ready, has, fault := j.rule(entry, o)
	switch {
	case !has:
		return r, false
	case fault != nil:
		r = result{InProgress, "its readyWhen cannot be evaluated"}
		j.blame(fault)
	case ready:
		r = result{state: Ready}
	case Of(o) == Failed:
		r = result{Failed, Why(o.Content())}
	default:
		r = result{InProgress, "readyWhen is not true yet"}
		if why := Why(o.Content()); why != "" {
			r.why += ": " + why
		}
	}
	j.known[o] = r
	return r, true
}

// blame records a fault, which may affect many objects.
func (j *Judge) blame(fault *problem.Problem) {
	if !slices.ContainsFunc(j.faults, func(other *problem.Problem) bool { return other.Message == fault.Message }) {
		j.faults = append(j.faults, fault)
	}
}
