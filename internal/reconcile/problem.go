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
	// Write is what the server refuses, in the message: "create ConfigMap default/a". Empty in others.
	Write string
	Retry Retry
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
	var all []*alike
	known := map[alikeKey]*alike{}
	for _, problem := range p {
		if problem.Waiting != waiting {
			continue
		}
		key, name := problem.alike()
		if known[key] == nil {
			known[key] = &alike{alikeKey: key}
			all = append(all, known[key])
		}
		known[key].add(name)
	}
	return told(listOf(all, (*alike).String))
}

// alikeKey is the message of a problem without the name of the object that it is about, where it has one.
type alikeKey struct{ begin, end string }

// alike is what several objects have in common, told once: "cannot create Pod ns/a, ns/b and ns/c: …".
type alike struct {
	alikeKey
	names []string // the first ones
	more  int
	seen  map[string]bool
}

func (p *Problem) alike() (key alikeKey, name string) {
	words := strings.SplitN(p.Write, " ", 3) // verb, kind and name
	end, ok := strings.CutPrefix(p.Message, "cannot "+p.Write)
	if !ok || len(words) < 3 {
		return alikeKey{begin: p.Message}, ""
	}
	return alikeKey{"cannot " + words[0] + " " + words[1] + " ", end}, words[2]
}

func (a *alike) add(name string) {
	switch {
	case name == "" || a.seen[name]:
		return
	case len(a.names) == mostListed:
		a.more++
	default:
		a.names = append(a.names, name)
	}
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	a.seen[name] = true
}

func (a *alike) String() string {
	names := a.names
	if a.more > 0 {
		names = append(slices.Clone(names), fmt.Sprintf("%d more", a.more))
	}
	return a.begin + and(names) + a.end
}

// retry is the keenest of all.
func (p problems) retry() Retry {
	keenest := RetryOnChange
	for _, problem := range p {
		keenest = max(keenest, problem.Retry)
	}
	return keenest
}
