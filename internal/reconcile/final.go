package reconcile

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/spec"
)

// finish makes the objects of spec.finalize.children, and reports whether all of them are ready. From then on an annotation of the
// parent says so: the templates may read children that go now.
func (p *pass) finish(ctx context.Context) bool {
	finals := spec.Finals(p.Spec)
	if len(finals) == 0 || p.noted(finished) {
		return true
	}
	if p.Rejected {
		p.waits("being deleted: waits for spec.finalize.children until TemplateController " + p.Name + " is accepted: its condition Accepted says what is wrong")
		return false
	}
	p.entries, p.order = finals, p.FinalOrder
	early := &Result{} // as for a parent that is not being deleted
	var s sight
	if !p.SyncingRelated() {
		s, early = p.converge(ctx)
	}
	if early != nil {
		p.problems = append(p.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true, Retry: early.Retry})
		return false
	}
	p.loop()
	return p.areReady(s) && p.noteFinished(ctx)
}

// ofEntries returns those children that are of entries which the pass brings in line: while the parent is being deleted, nobody keeps the others.
func (p *pass) ofEntries(observed []*child.Live) []*child.Live {
	if !p.parent.Deleting() {
		return observed
	}
	return slices.DeleteFunc(slices.Clone(observed), func(l *child.Live) bool { return !p.isFinal(l) })
}

// isFinal reports whether a child is one of spec.finalize.children.
func (p *pass) isFinal(l *child.Live) bool {
	return slices.ContainsFunc(spec.Finals(p.Spec), func(c v1.Child) bool { return c.Name == l.Entry })
}

// areReady reports whether all finalize children are as they should be, and says what is missing. In a namespace that is being deleted
// nothing can be made any more.
func (p *pass) areReady(s sight) bool {
	if slices.ContainsFunc(p.problems, func(issue *problem.Problem) bool { return issue.Reason == v1.ReasonNamespaceEnding }) && p.parent.Namespace() != "" {
		return p.goesWithNamespace()
	}
	p.wait(s)
	judge := p.judge(s.observed)
	c := p.takeCensus(s.d.Wanted, s.observed, judge)
	p.problems = append(p.problems, judge.Faults()...)
	if len(p.problems) == 0 && c.ready == c.wanted && p.plan.Pending == 0 && p.plan.Outdated == 0 {
		return true
	}
	if p.failed() {
		return false // which is told as it is
	}
	text := c.progress()
	switch {
	case len(c.failing) > 0:
		text = c.failure()
	case len(p.problems) > 0:
		text = p.problems.Message()
	}
	p.problems = problem.List{{
		Reason: v1.ReasonFinalizing, Waiting: len(c.failing) == 0, Retry: p.problems.Retry(), Pending: p.problems.Pending(),
		Message: "being deleted: waits for spec.finalize.children: " + text,
	}}
	return false
}

// goesWithNamespace decides about a parent whose finalize children cannot be made, for the namespace is being deleted, too.
func (p *pass) goesWithNamespace() bool {
	const why = "being deleted together with its namespace, where spec.finalize.children cannot be made"
	if p.Spec.Finalize.OnTimeout == v1.TimeoutBlock {
		p.problems = problem.List{{Reason: v1.ReasonNamespaceEnding, Retry: problem.RetrySlow, Message: why + ", and onTimeout is Block: " + skipAdvice}}
		return false
	}
	p.problems = nil
	p.r.events.Announce(p.As, p.key, kube.Announcement{About: p.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonNamespaceEnding, Message: why + ": goes without"})
	return true
}

// noteFinished annotates the parent, unless there is nothing left to do.
func (p *pass) noteFinished(ctx context.Context) bool {
	if !slices.ContainsFunc(p.observe(), p.goesBefore) {
		return true
	}
	return p.note(ctx, finished)
}
