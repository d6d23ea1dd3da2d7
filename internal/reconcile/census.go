package reconcile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
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

// census is how the children that are wanted fare.
type census struct {
	ready, wanted   int
	failing, coming []unready // those that are not ready, in the order of the templates
	rollouts        []rollout
}

// censusOf looks at the children that are wanted.
func censusOf(all []*child.Wanted, observed []*child.Live, judge *readiness.Judge) census {
	there := make(map[child.ID]*object.Object, len(observed))
	for _, l := range observed {
		there[l.ID()] = l.Object
	}
	c := census{wanted: len(all)}
	for _, w := range all {
		u := unready{w, there[w.ID()], judge}
		s := readiness.InProgress
		if u.object != nil {
			s = judge.Of(w.Entry.Name, u.object)
		}
		switch s {
		case readiness.Ready:
			c.ready++
		case readiness.Failed:
			c.failing = append(c.failing, u)
		case readiness.InProgress:
			c.coming = append(c.coming, u)
		}
	}
	return c
}

// takeCensus looks at the children that are wanted, and at the rollouts under way.
func (p *pass) takeCensus(all []*child.Wanted, observed []*child.Live, judge *readiness.Judge) census {
	c := censusOf(all, observed, judge)
	c.rollouts = p.rollouts(all, judge)
	return c
}

// progress says how far rollouts are, how many are ready, and which are not. What a rollout waits for is told once.
func (c census) progress() string {
	text := fmt.Sprintf("%d of %d children are ready", c.ready, c.wanted)
	coming := slices.DeleteFunc(slices.Clone(c.coming), func(u unready) bool {
		return slices.ContainsFunc(c.rollouts, func(r rollout) bool { return r.Entry == u.wanted.Entry })
	})
	if len(coming) > 0 {
		text += ": " + problem.JoinFunc(coming, unready.String)
	}
	if len(c.rollouts) > 0 {
		text = problem.JoinFunc(c.rollouts, rollout.String) + "; " + text
	}
	return text
}

// failure says which have failed, and which rollouts that has brought to a halt.
func (c census) failure() string {
	text := fmt.Sprintf("%d of %d children have failed: ", len(c.failing), c.wanted) + problem.JoinFunc(c.failing, unready.String)
	for _, r := range c.rollouts {
		if r.halted() {
			text += fmt.Sprintf("; children[%s]: the rollout has halted: %d of %d are up to date", r.Entry.Name, r.Current, r.Objects)
		}
	}
	return text
}
