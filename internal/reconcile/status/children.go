// Package status computes what a reconciliation reports: how the children are, the conditions of the parent, and the counts of all parents.
package status

import (
	"cmp"
	"fmt"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// unready is a desired child that is not ready.
type unready struct {
	wanted *child.Wanted
	object *object.Object // nil while it is not there
	judge  *readiness.Judge
}

// String says which child it is, and why it is not ready.
func (u unready) String() string {
	why := "does not exist yet"
	if u.object != nil {
		why = cmp.Or(u.judge.Why(u.wanted.Entry.Name, u.object), "just changed")
	}
	return u.wanted.ID().String() + ": " + why
}

// ChildSummary counts the desired children by their state.
type ChildSummary struct {
	Ready, Wanted   int
	Failing, coming []unready // those that are not ready, in the order of the templates
	Rollouts        []Rollout
}

// SummarizeChildren counts the desired children. observed are those that exist.
func SummarizeChildren(all []*child.Wanted, observed []*child.Live, judge *readiness.Judge) ChildSummary {
	there := make(map[child.ID]*object.Object, len(observed))
	for _, l := range observed {
		there[l.ID()] = l.Object
	}
	c := ChildSummary{Wanted: len(all)}
	for _, w := range all {
		u := unready{w, there[w.ID()], judge}
		s := readiness.InProgress
		if u.object != nil {
			s = judge.Of(w.Entry.Name, u.object)
		}
		switch s {
		case readiness.Ready:
			c.Ready++
		case readiness.Failed:
			c.Failing = append(c.Failing, u)
		case readiness.InProgress:
			c.coming = append(c.coming, u)
		}
	}
	return c
}

// Progress returns a message about the progress of rollouts, how many children are ready, and which are not. What a rollout waits for is listed
// once.
func (c ChildSummary) Progress() string {
	text := fmt.Sprintf("%d of %d children are ready", c.Ready, c.Wanted)
	coming := slices.DeleteFunc(slices.Clone(c.coming), func(u unready) bool {
		return slices.ContainsFunc(c.Rollouts, func(r Rollout) bool { return r.Entry == u.wanted.Entry })
	})
	if len(coming) > 0 {
		text += ": " + problem.JoinFunc(coming, unready.String)
	}
	if len(c.Rollouts) > 0 {
		text = problem.JoinFunc(c.Rollouts, Rollout.String) + "; " + text
	}
	return text
}

// Failure says which have failed, and which rollouts that has brought to a halt.
func (c ChildSummary) Failure() string {
	text := fmt.Sprintf("%d of %d children have failed: ", len(c.Failing), c.Wanted) + problem.JoinFunc(c.Failing, unready.String)
	for _, r := range c.Rollouts {
		if r.Halted() {
			text += fmt.Sprintf("; children[%s]: the rollout is halted: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
		}
	}
	return text
}

// Rollout is how far the objects of an entry are that changes a few of them at a time.
type Rollout struct {
	plan.Rollout
	waits  []unready // for these
	failed int       // of these, have failed for good
}

// Rollouts returns those under way. available is as for [plan.Rollouts].
func Rollouts(all []*child.Wanted, available func(*child.Live) bool, judge *readiness.Judge) []Rollout {
	var out []Rollout
	for _, each := range plan.Rollouts(all, available) {
		r := Rollout{Rollout: each}
		for _, w := range each.Unavailable {
			u := unready{wanted: w, judge: judge}
			if w.Live != nil {
				u.object = w.Live.Object
				if judge.Of(w.Entry.Name, w.Live.Object) == readiness.Failed {
					r.failed++
				}
			}
			r.waits = append(r.waits, u)
		}
		out = append(out, r)
	}
	return out
}

// String says how far it is, and what it waits for.
func (r Rollout) String() string {
	text := fmt.Sprintf("children[%s]: rollout: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
	if len(r.waits) > 0 {
		text += ", waits for " + problem.JoinFunc(r.waits, unready.String)
	}
	return text
}

// Halted reports whether it does not go on by itself: as many objects as may be unavailable have failed.
func (r Rollout) Halted() bool { return r.failed >= r.Most }

// Verdict is what the ready condition says.
type Verdict struct{ Status, Reason, Message string }

// Verdict returns whether the parent is ready, by the problems of the reconciliation and by its plan.
func (c ChildSummary) Verdict(problems problem.List, p *plan.Plan) Verdict {
	switch issue := problems.First(); {
	case issue != nil:
		return Verdict{"False", issue.Reason, problems.Message()}
	case p.Outdated > 0:
		return Verdict{"False", v1.ReasonOutdated, fmt.Sprintf("%d of %d children are out of date: delete them to have them recreated", p.Outdated, c.Wanted)}
	case p.Pending > 0 || c.Ready < c.Wanted:
		return Verdict{"False", v1.ReasonProgressing, c.Progress()}
	}
	return Verdict{"True", v1.ReasonReady, fmt.Sprintf("all children are ready: %d", c.Wanted)}
}

// Problem says which children have failed, or returns nil.
func (c ChildSummary) Problem() *problem.Problem {
	if len(c.Failing) == 0 {
		return nil
	}
	return problem.Newf(v1.ReasonChildFailing, "%s", c.Failure())
}

// SkipAdvice is the way out of a cleanup that cannot be done.
const SkipAdvice = "annotate the object with " + v1.AnnotationSkipFinalize + ": \"true\" to release it at once"

// AwaitFinals reports whether the objects of spec.finalize.children, which c summarizes, are as they should be. current is whether they are as
// their templates say now, and problems are those that came up. If something is missing, it returns what to report instead of these.
func AwaitFinals(c ChildSummary, problems problem.List, current bool) (ready bool, told problem.List) {
	if len(problems) == 0 && c.Ready == c.Wanted && current {
		return true, nil
	}
	if issue := problems.First(); issue != nil && !issue.Waiting {
		return false, problems
	}
	text := c.Progress()
	switch {
	case len(c.Failing) > 0:
		text = c.Failure() + "; fix that, or " + SkipAdvice
	case len(problems) > 0:
		text = problems.Message()
	}
	return false, problem.List{{
		Reason: v1.ReasonFinalizing, Waiting: len(c.Failing) == 0, Retry: problems.Retry(), Pending: problems.Pending(),
		Message: "being deleted: waiting for spec.finalize.children: " + text,
	}}
}
