// Package problem turns errors into messages that quote no value of an object, and says when to retry.
package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Problem says why a parent is not as its templates say. Reason and Message are
// for the parent's ready condition and for Events; they hold no values of objects.
type Problem struct {
	Reason  string
	Message string
	// Faults are those at the end of the message that the server finds in what is written, of which it may name
	// only some; About identifies what was written. They add up from one reconciliation to the next.
	Faults []string
	About  string
	// Write is what the server refuses, in the message: "create ConfigMap default/a". Empty in others.
	Write string
	// Namespace is where the server refuses that. Empty in others, and for what is in no namespace.
	Namespace string
	Retry     Retry
	// Denial is the permission that is missing. Empty in others.
	Denial Denial
	// Waiting is whether this is no fault: something is still to come.
	Waiting bool
	// Pending is whether the message is not worth telling yet: a better one is on its way.
	Pending bool
}

// Retry is when to retry a reconciliation with a problem.
type Retry int

// The retries, from the laziest to the keenest.
const (
	// RetryOnChange waits until the parent, a child or the controller changes.
	RetryOnChange Retry = iota
	// RetryDenied waits until the permission is granted, as Denial has it.
	RetryDenied
	// RetrySlower looks again every 30 s, and after some minutes longer each time, to 5 min.
	RetrySlower
	// RetrySlow looks again every 30 s.
	RetrySlow
	// RetryBackoff waits longer each time, to 5 min.
	RetryBackoff
	// RetrySoon waits longer each time, to 10 s.
	RetrySoon
	// RetryNow follows newer data that is on its way: quickly, and then longer each time, to 10 s.
	RetryNow
)

// SlowRetry is how long RetrySlow waits, but for a jitter.
const SlowRetry = 30 * time.Second

// Newf returns a Problem that waits for input.
func Newf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Denial names a permission that a user lacks: a verb on a resource. Namespace is empty where it is needed in the whole cluster. The zero
// Denial names none.
type Denial struct{ User, Verb, Resource, Namespace string }

// Lacks notes which permission is missing, and retries by that. A better message that is pending is not waited for.
func (p *Problem) Lacks(permission Denial) *Problem {
	p.Denial, p.Retry = permission, RetryDenied
	if p.Pending {
		p.Retry = RetrySoon
	}
	return p
}

// SetFaults replaces the faults at the end of the message.
func (p *Problem) SetFaults(faults []string) {
	if rest, ok := strings.CutSuffix(p.Message, Join(p.Faults)); ok {
		p.Message, p.Faults = rest+Join(faults), faults
	}
}

// FromTemplate returns the problem of a failed rendering.
func FromTemplate(err error) *Problem {
	var failure *syntax.Error
	if !errors.As(err, &failure) {
		return &Problem{Reason: v1.ReasonInternalError, Message: "rendering failed unexpectedly: see the operator's log", Retry: RetryBackoff}
	}
	switch failure.Reason {
	case syntax.Fail:
		return Newf(v1.ReasonTemplateFailed, "%s", failure.Error())
	case syntax.Wait, syntax.Missing:
		return &Problem{Reason: v1.ReasonWaiting, Message: failure.Message, Waiting: true}
	case syntax.Interrupted:
		return &Problem{Reason: v1.ReasonProgressing, Message: failure.Message, Waiting: true, Pending: true, Retry: RetryNow}
	case syntax.Invalid, syntax.Budget:
	}
	return Newf(v1.ReasonTemplateError, "%s", failure.Error())
}

// ShortMessage is how long the message of a ready condition may be that takes the place of one that the server has not taken.
const ShortMessage = 256

// Unfit reports whether the server may take less of the same. Of what is too large for its store it says no more than that it cannot
// answer.
func Unfit(err error) bool {
	if err == nil {
		return false // mostly, and without an allocation
	}
	if len(SchemaFaults(err)) > 0 {
		return false
	}
	switch request.Code(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return true
	}
	return false
}
