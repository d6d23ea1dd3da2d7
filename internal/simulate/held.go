package simulate

import (
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/fields"
)

// Holding returns a State that knows which fields of objects of a cluster the TemplateController has set: those go that it sets no longer.
// Without it, they count as set by others, and stay.
func (s *Simulator) Holding(in State, parent *object.Object, children []*object.Object) State {
	in = in.copy()
	manager := s.factory(still(in.Now)).Manager
	note := func(id child.ID, o *object.Object, subresource string) {
		in.applied[id] = mapping(fields.Set(o.Applied(manager, subresource)).Extract(o.Content()))
	}
	note(parentID, parent, "status")
	for _, o := range children {
		note(child.IDOf(o.Content()), o, "")
	}
	return in
}
