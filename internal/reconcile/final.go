package reconcile

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
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
	return teardown.OfFinals(p.Spec, observed)
}

// areReady reports whether all finalize children are as they should be, and says what is missing. Where the parent's namespace is being
// deleted, too, nothing can be made there any more.
func (p *pass) areReady(s sight) bool {
	if p.goesWithNamespace() {
		return p.areReadyElsewhere(s)
	}
	p.wait(s)
	return p.allReady(s, s.d.Wanted, p.plan.Pending == 0 && p.plan.Outdated == 0)
}

// allReady reports whether these are ready. current is whether they are as their templates say now.
func (p *pass) allReady(s sight, wanted []*child.Wanted, current bool) bool {
	judge := p.judge(s.observed)
	c := p.takeCensus(wanted, s.observed, judge)
	p.problems = append(p.problems, judge.Faults()...)
	if p.opened && len(p.problems) == 0 { // the next pass goes on at once
		p.problems = problem.List{{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true}}
		return false
	}
	ready, told := teardown.Await(c, p.problems, current)
	p.problems = told
	return ready
}

// goesWithNamespace reports whether the server refuses an object because the parent's own namespace is being deleted.
func (p *pass) goesWithNamespace() bool { return slices.ContainsFunc(p.problems, p.isOfEndingParent) }

func (p *pass) isOfEndingParent(issue *problem.Problem) bool {
	return issue.Reason == v1.ReasonNamespaceEnding && issue.Namespace == p.parent.Namespace()
}

// areReadyElsewhere decides about a parent with finalize children that cannot be made, for its namespace is being deleted, too. The others
// are waited for, but for those that wait for them.
func (p *pass) areReadyElsewhere(s sight) bool {
	const why = "being deleted together with its namespace, where spec.finalize.children cannot be made"
	if p.Spec.Finalize.OnTimeout == v1.TimeoutBlock {
		p.problems = problem.List{{Reason: v1.ReasonNamespaceEnding, Namespace: p.parent.Namespace(), Retry: problem.RetrySlow, Message: why + ", and onTimeout is Block: " + teardown.SkipAdvice}}
		return false
	}
	p.problems = slices.DeleteFunc(p.problems, p.isOfEndingParent)
	others := len(p.problems)
	p.wait(s)
	p.problems = p.problems[:others]
	elsewhere := slices.DeleteFunc(slices.Clone(s.d.Wanted), func(w *child.Wanted) bool {
		return w.Name.Namespace == p.parent.Namespace() || s.gates.Closed(w.Entry.Name)
	})
	outdated := slices.ContainsFunc(elsewhere, func(w *child.Wanted) bool {
		return w.Live != nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(w.Live.Object)
	})
	if !p.allReady(s, elsewhere, !outdated) {
		return false
	}
	p.r.events.Announce(p.As, p.key, kube.Announcement{About: p.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonNamespaceEnding, Message: why + ": goes without"})
	return true
}

// noteFinished annotates the parent, unless there is nothing left to do.
func (p *pass) noteFinished(ctx context.Context) bool {
	if p.goesAlone() {
		return true
	}
	return p.note(ctx, finished)
}
