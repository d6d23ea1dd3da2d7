package problem

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
)

// List contains all problems of a reconciliation, in the order in which they occurred.
type List []*Problem

// First returns the problem to show: the first one that is an error, or else the first one that is waiting.
func (p List) First() *Problem {
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

// Pending reports whether a more specific message will follow soon.
func (p List) Pending() bool {
	return slices.ContainsFunc(p, func(problem *Problem) bool { return problem.Pending })
}

// Message joins the messages of all errors or, if there are none, of all waiting problems, starting with First. Objects that are not updated
// because of them come last.
func (p List) Message() string {
	waiting := p.First().Waiting
	var all []*alike
	var stopped []string
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
		stopped = append(stopped, problem.Stopped...)
	}
	text := JoinFunc(all, (*alike).String)
	if len(stopped) > 0 {
		text += "; not updated because of this: " + Join(stopped)
	}
	return Line(text)
}

// alikeKey is the message of a problem without the name of the object it is about, if any.
type alikeKey struct{ begin, end string }

// alike is one message for several objects, such as "cannot create Pod ns/a, ns/b and ns/c: …".
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
	case len(a.names) == MaxListed:
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
	return a.begin + And(names) + a.end
}

// Retry returns the soonest retry of all problems.
func (p List) Retry() Retry {
	keenest := RetryOnChange
	for _, problem := range p {
		keenest = max(keenest, problem.Retry)
	}
	return keenest
}

// Denial returns the first missing permission, or the zero Denial.
func (p List) Denial() Denial {
	for _, problem := range p {
		if problem.Denial != (Denial{}) {
			return problem.Denial
		}
	}
	return Denial{}
}

// TemplateFailed reports whether one of the problems is a template error.
func (p List) TemplateFailed() bool {
	for _, problem := range p {
		if problem.Reason == v1.ReasonTemplateError || problem.Reason == v1.ReasonTemplateFailed {
			return true
		}
	}
	return false
}

// Answered reports whether the API server responded to every write that the cleanup needs, even if it rejected it. It
// is false if something could not be attempted, because of a missing permission, a failing template or a request
// without a response.
func (p List) Answered() bool {
	return !slices.ContainsFunc(p, func(each *Problem) bool {
		switch each.Reason {
		case v1.ReasonFinalizing, v1.ReasonChildRejected, v1.ReasonChildConflict, v1.ReasonChildFailing, v1.ReasonNamespaceNotFound, v1.ReasonNamespaceTerminating:
			return false
		}
		return !each.Waiting
	})
}
