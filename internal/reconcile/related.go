package reconcile

import (
	"fmt"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/related/selection"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/reconcile/view"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// chosen is what the parent sees by one entry of spec.related.
type chosen struct {
	selection selection.Selection
	objects   []*object.Object // as the pass found them, all its templates alike
	found     bool             // whether they were looked up
}

// choose finds out, once in a pass, what the parent sees by each entry of spec.related, or returns why that is not known. Then no
// template is rendered: a list that is not known is not an empty one.
func (rec *reconciliation) choose() *problem.Problem {
	if len(rec.Related) > 0 && rec.chosen == nil {
		rec.chosen = make([]chosen, len(rec.Related))
		rec.unchosen = rec.chooseAll()
	}
	return rec.unchosen
}

func (rec *reconciliation) chooseAll() *problem.Problem {
	in := &render.Input{Parent: rec.content(), Pause: rec.pause, Budget: &rec.budget}
	room := selection.Room(rec.parent.Len())
	for i, e := range rec.Related {
		switch e.State() {
		case related.Waiting, related.Unreadable:
			return rec.unreadable(e)
		case related.Absent:
			rec.chosen[i].found = true // there are none
			continue
		case related.Known:
		}
		yielded, err := rec.Program.Select(e.Name, in)
		if err != nil {
			return problem.FromTemplate(err)
		}
		var issue *problem.Problem
		if rec.chosen[i].selection, issue = e.Choose(rec.key.Parent, yielded, room); issue != nil {
			return issue
		}
		if e.Select != "" {
			room -= rec.chosen[i].selection.Size()
		}
	}
	return nil
}

// unreadable says that an entry cannot be read, and where is told why.
func (rec *reconciliation) unreadable(e *related.Entry) *problem.Problem {
	return problem.Newf(v1.ReasonRelatedUnreadable, "%s cannot read %s: the condition Watching of TemplateController %s says why; nothing is changed meanwhile", rights.Who(rec.As), syntax.RelatedName(e.Name), rec.Name)
}

// related returns what the parent sees by the entry of that name: see render.Input.
func (rec *reconciliation) related(name string) ([]map[string]any, error) {
	i := slices.IndexFunc(rec.Related, func(e *related.Entry) bool { return e.Name == name })
	if i < 0 || rec.choose() != nil { // which is told, or should not be: the names of a program are those of its spec
		return nil, fmt.Errorf("%s is not known", syntax.RelatedName(name))
	}
	return view.Contents(rec.look(i), &rec.budget)
}

// look returns the objects of an entry, as they were when they were first looked up.
func (rec *reconciliation) look(i int) []*object.Object {
	c := &rec.chosen[i]
	if !c.found {
		c.objects, c.found = rec.Related[i].Find(c.selection), true
	}
	return c.objects
}

// held is what the templates want while none of them is rendered: nobody knows.
func (rec *reconciliation) held(why *problem.Problem) child.Desired {
	d := rec.Factory.Unrendered(rec.parent, rec.entries)
	d.Faults = []child.Fault{{Problem: why, Always: true}}
	return d
}
