// Package census counts how the children of a parent fare, and says whether the parent is ready, and why not. Pure.
package census

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// unready is a child that is wanted and not ready.
type unready struct {
	wanted *child.Wanted
	object *object.Object // nil while it is not there
	judge  *readiness.Judge
}

// String says which child it is, and why it is not ready.
func (u unready) String() string {
	why := "not there yet"
	if u.object != nil {
		why = cmp.Or(u.judge.Why(u.wanted.Entry.Name, u.object), "changed a moment ago")
	}
	return u.wanted.ID().String() + ": " + why
}

// Census is how the children that are wanted fare.
type Census struct {
	Ready, Wanted   int
	Failing, coming []unready // those that are not ready, in the order of the templates
	Rollouts        []Rollout
}

// Of looks at the children that are wanted. observed are those that there are.
func Of(all []*child.Wanted, observed []*child.Live, judge *readiness.Judge) Census {
	there := make(map[child.ID]*object.Object, len(observed))
	for _, l := range observed {
		there[l.ID()] = l.Object
	}
	c := Census{Wanted: len(all)}
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

// Progress says how far rollouts are, how many are ready, and which are not. What a rollout waits for is told once.
func (c Census) Progress() string {
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
func (c Census) Failure() string {
	text := fmt.Sprintf("%d of %d children have failed: ", len(c.Failing), c.Wanted) + problem.JoinFunc(c.Failing, unready.String)
	for _, r := range c.Rollouts {
		if r.Halted() {
			text += fmt.Sprintf("; children[%s]: the rollout has halted: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
		}
	}
	return text
}
