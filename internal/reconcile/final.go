package reconcile

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/teardown"
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
		p.partial = true
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

// areReady reports whether all finalize children are as they should be, and says what is missing. Those that cannot be made, because their
// namespace is being deleted, are not waited for, nor are those that wait for them: else namespaces could not be deleted.
func (p *pass) areReady(s sight) bool {
	impossible, possible := apart(p.problems)
	if len(impossible) > 0 {
		return p.areReadyElsewhere(s, impossible, possible)
	}
	p.wait(s)
	return p.allReady(s, s.d.Wanted, p.plan.Pending == 0 && p.plan.Outdated == 0)
}

// allReady reports whether these are ready. current is whether they are as their templates say now.
func (p *pass) allReady(s sight, wanted []*child.Wanted, current bool) bool {
	judge := p.judge(s.observed)
	c := p.takeCensus(wanted, s.observed, judge)
	p.problems = append(p.problems, p.judgeFaults(judge)...)
	if p.opened && len(p.problems) == 0 { // the next pass goes on at once
		p.problems = problem.List{{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true}}
		return false
	}
	ready, told := teardown.Await(c, p.problems, current)
	p.problems = told
	return ready
}

// apart takes those problems apart that say that the server refuses an object because its namespace is being deleted.
func apart(all problem.List) (impossible, others problem.List) {
	for _, issue := range all {
		if issue.Reason == v1.ReasonNamespaceEnding {
			impossible = append(impossible, issue)
		} else {
			others = append(others, issue)
		}
	}
	return impossible, others
}

// areReadyElsewhere is areReady without the objects that cannot be made.
func (p *pass) areReadyElsewhere(s sight, impossible, possible problem.List) bool {
	ending := map[string]bool{}
	for _, issue := range impossible {
		ending[issue.Namespace] = true
	}
	p.problems = possible
	p.wait(s)
	p.problems = p.problems[:len(possible)]
	elsewhere := slices.DeleteFunc(slices.Clone(s.d.Wanted), func(w *child.Wanted) bool {
		return ending[w.Name.Namespace] || s.gates.Closed(w.Entry.Name)
	})
	outdated := slices.ContainsFunc(elsewhere, func(w *child.Wanted) bool {
		return w.Live != nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(w.Live.Object)
	})
	if !p.allReady(s, elsewhere, !outdated) {
		return false
	}
	for _, issue := range impossible {
		p.r.events.Announce(p.As, p.key, request.Announcement{About: p.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonNamespaceEnding, Message: teardown.Impossible(issue.Write)})
	}
	return true
}

// noteFinished annotates the parent, unless there is nothing left to do.
func (p *pass) noteFinished(ctx context.Context) bool {
	if p.goesAlone() {
		return true
	}
	return p.note(ctx, finished)
}
