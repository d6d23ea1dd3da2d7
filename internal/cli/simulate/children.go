package simulate

import (
	"cmp"
	"slices"

	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// children says how each child stands.
func (p *pass) children(dependencies *plan.Dependencies, judge *readiness.Judge) []Child {
	var out []Child
	places := p.explain()
	for _, w := range p.report.Desired.Wanted {
		c := Child{Entry: w.Entry.Name, Line: w.Line(), Wanted: w.Content, Places: places[w.ID()], State: "ready", wanted: w}
		switch {
		case w.Live == nil && p.server.Objects[running.Locate(w.Kind, w.Name)] != nil:
			c.State = "an object with another owner has its name"
		case w.Live == nil && dependencies.Blocks(w.Entry.Name):
			c.State = "waits for other children"
		case w.Live == nil:
			c.State = "does not exist yet"
		default:
			c.Live = Public(w.Live.Object.Content())
			if judge.Of(w.Entry.Name, w.Live.Object) != readiness.Ready {
				c.State = cmp.Or(judge.Why(w.Entry.Name, w.Live.Object), "not ready")
			}
		}
		out = append(out, c)
	}
	for _, l := range p.observed {
		if l.Wanted != nil {
			continue
		}
		out = append(out, Child{Entry: l.Entry, Live: Public(l.Object.Content()), State: p.fate(l)})
	}
	return out
}

// fate returns what happens to a child that no template yields, or to any child while the parent is being deleted.
func (p *pass) fate(l *child.Live) string {
	switch {
	case l.Object.Deleting():
		return "being deleted"
	case slices.Contains(p.report.Desired.Failed, l.Entry):
		return "is left unchanged: its template cannot be rendered"
	case !p.parent.Deleting():
		return "no longer rendered"
	case !l.Collectable() || plan.CascadesOrphan(p.parent):
		return "is kept after its parent"
	case p.gone: // only templater binds it to the parent, and no longer waits for it
		return "is deleted after its parent"
	case plan.DeletedBeforeParent(p.spec, l):
		return "is deleted before its parent"
	}
	return "is deleted with its parent"
}
