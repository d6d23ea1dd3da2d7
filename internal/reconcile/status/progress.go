// Package status computes the results that a reconciliation reports: the state of the children, the conditions of the parent, and the counts of
// all parents.
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
	object *object.Object // nil if it does not exist
	judge  *readiness.Judge
}

// String names the child, and describes why it is not ready.
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
	Failing, coming []unready // children that are not ready, in the order of the templates
	Rollouts        []Rollout
}

// SummarizeChildren counts the desired children. observed are the existing ones.
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

// Progress returns a message about the progress of rollouts, the number of ready children, and which children are not ready. Children that a
// rollout waits for are listed only once.
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

// Failure returns a message about failed children and halted rollouts.
func (c ChildSummary) Failure() string {
	text := fmt.Sprintf("%d of %d children have failed: ", len(c.Failing), c.Wanted) + problem.JoinFunc(c.Failing, unready.String)
	for _, r := range c.Rollouts {
		if r.Halted() {
			text += fmt.Sprintf("; children[%s]: the rollout is halted: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
		}
	}
	return text
}

// Rollout is the progress of a rolling update of a child template, with the children that it waits for.
type Rollout struct {
	plan.Rollout
	waits  []unready // unavailable children
	failed int       // how many of these have failed
}

// Rollouts returns the rollouts in progress. available is as for [plan.Rollouts].
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

// String describes the progress of the rollout, and what it waits for.
func (r Rollout) String() string {
	text := fmt.Sprintf("children[%s]: rollout: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
	if len(r.waits) > 0 {
		text += ", waiting for " + problem.JoinFunc(r.waits, unready.String)
	}
	return text
}

// Halted reports whether the rollout cannot continue, because the maximum number of unavailable objects has failed.
func (r Rollout) Halted() bool { return r.failed >= r.Most }

// SkipAdvice tells users how to skip a blocked cleanup.
const SkipAdvice = "annotate the object with " + v1.AnnotationSkipFinalize + ": \"true\" to skip the cleanup and remove the finalizer immediately"
