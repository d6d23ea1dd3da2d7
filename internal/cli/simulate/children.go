package simulate

import (
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// children returns the children with their states.
func (p *finished) children() []Child {
	var out []Child
	places := p.explain()
	states := p.report.States(status.Observed{
		Spec: p.spec, Parent: p.parent, Released: p.gone, Children: p.observed, Judge: p.judge(),
		Exists: func(w *child.Wanted) bool { return p.server.Objects[controller.Locate(w.Kind, w.Name)] != nil },
	})
	for _, s := range states {
		c := Child{State: s.State, wanted: s.Wanted}
		var live *object.Object
		if s.Live != nil {
			live = s.Live.Object
			c.Entry, c.Live = s.Live.Entry, Public(s.Live.Object.Content())
		}
		if w := s.Wanted; w != nil {
			c.Entry, c.Line, c.Wanted, c.Places = w.Entry.Name, w.Line(), w.Shown(live), places[w.ID()]
		}
		out = append(out, c)
	}
	return out
}
