package reconcile

import (
	"context"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// evidence identifies the data that a decision to delete is based on, by the Since methods of running.Controller. It is gathered before the
// data is read, and checked before each deletion: a watch that failed in between may have missed a change that reverses the decision.
type evidence struct {
	children       bool   // whether it is about the children, too, or only about what decides who is a parent
	since, related uint64 // 0 = not current
}

// gather records which data is current now.
func (p *pass) gather(children bool) {
	p.evidence = evidence{children: children, related: p.RelatedSince()}
	p.evidence.since = p.evidence.now(p)
}

func (e evidence) now(p *pass) uint64 {
	if e.children {
		return p.CompleteSince(p.key.Parent.Namespace)
	}
	return p.CurrentSince(p.key.Parent.Namespace)
}

// stands reports whether all data was current when the evidence was gathered, and still is.
func (e evidence) stands(p *pass) bool { return e.since != 0 && e.since == e.now(p) }

// standsWhole is stands, including related objects.
func (e evidence) standsWhole(p *pass) bool {
	return e.related != 0 && e.related == p.RelatedSince() && e.stands(p)
}

// outdated is the problem that nothing is deleted because a watch failed after the decision.
func (p *pass) outdated() *problem.Problem {
	p.partial = true
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: "waiting for current data: a watch failed before a child could be deleted"}
}

// makePlan plans the pass. Nothing is removed by what may be superseded.
func (p *pass) makePlan(ctx context.Context, s plan.Input) plan.Plan {
	p.behind = !running.Readable(p.Controllers)
	current := p.evidence.standsWhole(p)
	p.partial = p.partial || !current
	s.Complete = len(p.problems) == 0 && current
	p.sure = s.Complete
	out := plan.Make(s)
	if len(out.Remove) == 0 || p.r.controllers.MayPrune(ctx, p.Controller) {
		return out
	}
	p.problems = append(p.problems, p.superseded())
	s.Complete = false
	return plan.Make(s)
}

// superseded says that nothing is deleted because there may be another spec by now.
func (p *pass) superseded() *problem.Problem {
	p.partial = true
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: "waiting for what is new in TemplateController " + p.Name}
}
