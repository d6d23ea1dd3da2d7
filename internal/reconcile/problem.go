package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render"
)

// Problem says why a parent is not as its templates say. Reason and Message are
// for the parent's ready condition and for Events; they hold no values of objects.
type Problem struct {
	Reason  string
	Message string
	// Faults are those at the end of the message that the server finds in what is written, and may name
	// in part only; About tells what was written. See said.all.
	Faults []string
	About  string
	Retry  Retry
	// Waiting is whether this is no fault: something is still to come.
	Waiting bool
	// Pending is whether the message is not worth telling yet: a better one is on its way.
	Pending bool
}

// Retry says when a pass with a problem is worth repeating.
type Retry int

// The retries, from the laziest to the keenest.
const (
	// RetryOnChange waits until the parent, a child or the controller changes.
	RetryOnChange Retry = iota
	// RetrySlow looks again every 30 s.
	RetrySlow
	// RetryBackoff waits longer each time, to 5 min.
	RetryBackoff
	// RetrySoon waits longer each time, to 10 s.
	RetrySoon
	// RetryNow follows newer data that is on its way: quickly, and then longer each time, to 10 s.
	RetryNow
)

const (
	slowRetry    = 30 * time.Second
	longestSoon  = 10 * time.Second
	freshDataLag = 100 * time.Millisecond // the first wait of RetryNow
)

// problemf returns a Problem that waits for input.
func problemf(reason, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// tell replaces the faults at the end of the message.
func (p *Problem) tell(faults []string) {
	if rest, ok := strings.CutSuffix(p.Message, list(p.Faults)); ok {
		p.Message, p.Faults = rest+list(faults), faults
	}
}

// templateProblem tells what a failed rendering means.
func templateProblem(err error) *Problem {
	var failure *render.Error
	if !errors.As(err, &failure) {
		return &Problem{Reason: v1.ReasonInternalError, Message: "rendering failed in an unexpected way, see the operator's log", Retry: RetryBackoff}
	}
	switch failure.Reason {
	case render.Fail:
		return problemf(v1.ReasonTemplateFailed, "%s", failure.Error())
	case render.Wait:
		return &Problem{Reason: v1.ReasonWaiting, Message: failure.Message, Waiting: true}
	case render.Interrupted:
		return &Problem{Reason: v1.ReasonProgressing, Message: failure.Message, Waiting: true, Pending: true, Retry: RetryNow}
	case render.Invalid, render.Budget:
	}
	return problemf(v1.ReasonTemplateError, "%s", failure.Error())
}

// problems is a list of them in the order in which they were met.
type problems []*Problem

// first returns the one to show: the first fault, or else what is waited for.
func (p problems) first() *Problem {
	for _, problem := range p {
		if !problem.Waiting {
			return problem
		}
	}
	if len(p) > 0 {
		return p[0]
	}
	return nil
}

// pending reports whether there will soon be more to tell than there is now.
func (p problems) pending() bool {
	return slices.ContainsFunc(p, func(problem *Problem) bool { return problem.Pending })
}

// message tells all faults, or else all that is waited for, the one to show first.
func (p problems) message() string {
	waiting := p.first().Waiting
	var texts []string
	for _, problem := range p {
		if problem.Waiting == waiting && !slices.Contains(texts, problem.Message) {
			texts = append(texts, problem.Message)
		}
	}
	return told(list(texts))
}

// retry is the keenest of all.
func (p problems) retry() Retry {
	keenest := RetryOnChange
	for _, problem := range p {
		keenest = max(keenest, problem.Retry)
	}
	return keenest
}
