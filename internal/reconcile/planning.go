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
func (rec *reconciliation) gather(children bool) {
	rec.evidence = evidence{children: children, related: rec.RelatedSince()}
	rec.evidence.since = rec.evidence.now(rec)
}

func (e evidence) now(rec *reconciliation) uint64 {
	if e.children {
		return rec.CompleteSince(rec.key.Parent.Namespace)
	}
	return rec.CurrentSince(rec.key.Parent.Namespace)
}

// stands reports whether all data was current when the evidence was gathered, and still is.
func (e evidence) stands(rec *reconciliation) bool { return e.since != 0 && e.since == e.now(rec) }

// standsWhole is stands, including related objects.
func (e evidence) standsWhole(rec *reconciliation) bool {
	return e.related != 0 && e.related == rec.RelatedSince() && e.stands(rec)
}

// outdated is the problem that nothing is deleted because a watch failed after the decision.
func (rec *reconciliation) outdated() *problem.Problem {
	rec.partial = true
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: "waiting for current data: a watch failed before a child could be deleted"}
}

// makePlan plans the pass. Nothing is removed by what may be superseded.
func (rec *reconciliation) makePlan(ctx context.Context, s plan.Input) plan.Plan {
	rec.behind = !running.Readable(rec.Controllers)
	current := rec.evidence.standsWhole(rec)
	rec.partial = rec.partial || !current
	s.Complete = len(rec.problems) == 0 && current
	rec.sure = s.Complete
	out := plan.Make(s)
	if len(out.Remove) == 0 || rec.r.Controllers.MayPrune(ctx, rec.Controller) {
		return out
	}
	rec.problems = append(rec.problems, rec.superseded())
	s.Complete = false
	return plan.Make(s)
}

// superseded says that nothing is deleted because there may be another spec by now.
func (rec *reconciliation) superseded() *problem.Problem {
	rec.partial = true
	return &problem.Problem{Reason: v1.ReasonProgressing, Waiting: true, Retry: problem.RetrySoon, Message: "waiting for what is new in TemplateController " + rec.Name}
}
