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
func (rec *reconciliation) finish(ctx context.Context) bool {
	finals := spec.Finals(rec.Spec)
	if len(finals) == 0 || rec.noted(finished) {
		return true
	}
	if rec.Rejected {
		rec.waits("being deleted: waits for spec.finalize.children until TemplateController " + rec.Name + " is accepted: its condition Accepted says what is wrong")
		return false
	}
	rec.entries, rec.order = finals, rec.FinalOrder
	early := &Result{} // as for a parent that is not being deleted
	var s sight
	if !rec.SyncingRelated() {
		s, early = rec.converge(ctx)
	}
	if early != nil {
		rec.problems = append(rec.problems, &problem.Problem{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true, Retry: early.Retry})
		rec.partial = true
		return false
	}
	rec.loop()
	return rec.areReady(s) && rec.noteFinished(ctx)
}

// ofEntries returns those children that are of entries which the pass brings in line: while the parent is being deleted, nobody keeps the others.
func (rec *reconciliation) ofEntries(observed []*child.Live) []*child.Live {
	if !rec.parent.Deleting() {
		return observed
	}
	return teardown.OfFinals(rec.Spec, observed)
}

// areReady reports whether all finalize children are as they should be, and says what is missing. Those that cannot be made, because their
// namespace is being deleted, are not waited for, nor are those that wait for them: else namespaces could not be deleted.
func (rec *reconciliation) areReady(s sight) bool {
	impossible, possible := apart(rec.problems)
	if len(impossible) > 0 {
		return rec.areReadyElsewhere(s, impossible, possible)
	}
	rec.wait(s)
	return rec.allReady(s, s.d.Wanted, rec.plan.Pending == 0 && rec.plan.Outdated == 0)
}

// allReady reports whether these are ready. current is whether they are as their templates say now.
func (rec *reconciliation) allReady(s sight, wanted []*child.Wanted, current bool) bool {
	judge := rec.judge(s.observed)
	c := rec.takeCensus(wanted, s.observed, judge)
	rec.problems = append(rec.problems, rec.judgeFaults(judge)...)
	if rec.opened && len(rec.problems) == 0 { // the next pass goes on at once
		rec.problems = problem.List{{Reason: v1.ReasonFinalizing, Waiting: true, Pending: true}}
		return false
	}
	ready, told := teardown.Await(c, rec.problems, current)
	rec.problems = told
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
func (rec *reconciliation) areReadyElsewhere(s sight, impossible, possible problem.List) bool {
	ending := map[string]bool{}
	for _, issue := range impossible {
		ending[issue.Namespace] = true
	}
	rec.problems = possible
	rec.wait(s)
	rec.problems = rec.problems[:len(possible)]
	elsewhere := slices.DeleteFunc(slices.Clone(s.d.Wanted), func(w *child.Wanted) bool {
		return ending[w.Name.Namespace] || s.gates.Closed(w.Entry.Name)
	})
	outdated := slices.ContainsFunc(elsewhere, func(w *child.Wanted) bool {
		return w.Live != nil && w.Entry.UpdateStrategy.Type != v1.UpdateCreateOnly && w.Outdated(w.Live.Object)
	})
	if !rec.allReady(s, elsewhere, !outdated) {
		return false
	}
	for _, issue := range impossible {
		rec.r.Events.Announce(rec.As, rec.key, request.Announcement{About: rec.parent, Type: corev1.EventTypeWarning, Reason: v1.ReasonNamespaceEnding, Message: teardown.Impossible(issue.Write)})
	}
	return true
}

// noteFinished annotates the parent, unless there is nothing left to do.
func (rec *reconciliation) noteFinished(ctx context.Context) bool {
	if rec.goesAlone() {
		return true
	}
	return rec.note(ctx, finished)
}
