package problem

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
)

// List is all problems of a reconciliation, in the order in which they occurred.
type List []*Problem

// First returns the one to show: the first fault, or else what is waited for.
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

// Pending reports whether the message will soon say more.
func (p List) Pending() bool {
	return slices.ContainsFunc(p, func(problem *Problem) bool { return problem.Pending })
}

// Message returns the messages of all faults or, without faults, of all waits. First comes the first problem.
func (p List) Message() string {
	waiting := p.First().Waiting
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
	return Line(JoinFunc(all, (*alike).String))
}

// alikeKey is the message of a problem without the name of the object that it is about, where it has one.
type alikeKey struct{ begin, end string }

// alike is one message for several objects: "cannot create Pod ns/a, ns/b and ns/c: …".
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
	case len(a.names) == MostListed:
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

// Retry is the keenest of all.
func (p List) Retry() Retry {
	keenest := RetryOnChange
	for _, problem := range p {
		keenest = max(keenest, problem.Retry)
	}
	return keenest
}

// Denial is the first permission that is missing.
func (p List) Denial() Denial {
	for _, problem := range p {
		if problem.Denial != (Denial{}) {
			return problem.Denial
		}
	}
	return Denial{}
}

// TemplateFailed reports whether one of the problems is the fault of a template.
func (p List) TemplateFailed() bool {
	for _, problem := range p {
		if problem.Reason == v1.ReasonTemplateError || problem.Reason == v1.ReasonTemplateFailed {
			return true
		}
	}
	return false
}

// Answered reports whether the server has answered each write that the cleanup needs, be it by a refusal: none of these problems says
// that something could not be attempted, for a missing permission, a template that fails, or a request without an answer.
func (p List) Answered() bool {
	return !slices.ContainsFunc(p, func(each *Problem) bool {
		switch each.Reason {
		case v1.ReasonFinalizing, v1.ReasonChildRejected, v1.ReasonChildConflict, v1.ReasonChildFailing, v1.ReasonNamespaceNotFound, v1.ReasonNamespaceEnding:
			return false
		}
		return !each.Waiting
	})
}
