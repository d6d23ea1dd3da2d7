package status

import (
	"cmp"
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/plan"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// ChildState is the state of a child after a reconciliation.
type ChildState struct {
	Wanted *child.Wanted // nil if no template renders it
	Live   *child.Live   // nil if it does not exist
	State  string        // short description: ready, or why it is not
}

// Observed is a parent with its children after a reconciliation. readyWhen is evaluated with the children in this state.
type Observed struct {
	Spec     *v1.TemplateControllerSpec
	Parent   *object.Object // before the reconciliation
	Released bool           // whether the parent no longer has the finalizer of the TemplateController, so that it is deleted
	Children []*child.Live
	Judge    *readiness.Judge
	// Exists reports whether an object of this kind and name exists.
	Exists func(w *child.Wanted) bool
}

// States returns the state of each child: rendered children in template order, then all others.
func (r *Report) States(o Observed) []ChildState {
	var out []ChildState
	r.Desired.Pair(o.Children)
	dependencies := plan.NewDependencies(r.Order, &r.Desired, o.Judge)
	for _, w := range r.Desired.Wanted {
		s := ChildState{Wanted: w, Live: w.Live, State: "ready"}
		switch {
		case w.Live == nil && o.Exists(w):
			s.State = "conflict: an object with this name has another owner"
		case w.Live == nil && dependencies.Blocks(w.Entry.Name):
			s.State = "waiting for other children"
		case w.Live == nil:
			s.State = "does not exist yet"
		case o.Judge.Of(w.Entry.Name, w.Live.Object) != readiness.Ready:
			s.State = cmp.Or(o.Judge.Why(w.Entry.Name, w.Live.Object), "not ready")
		}
		out = append(out, s)
	}
	for _, l := range o.Children {
		if l.Wanted == nil {
			out = append(out, ChildState{Live: l, State: r.fate(o, l)})
		}
	}
	return out
}

// fate describes what happens to a child that no template renders, or to any child while the parent is being deleted.
func (r *Report) fate(o Observed, l *child.Live) string {
	switch {
	case l.Object.Deleting():
		return "being deleted"
	case plan.IsSuspended(o.Parent):
		return "is left unchanged: its parent is suspended"
	case slices.Contains(r.Desired.Failed, l.Entry):
		return "is left unchanged: its template cannot be rendered"
	case !o.Parent.Deleting():
		return "no longer rendered"
	case !l.Collectable() || plan.CascadesOrphan(o.Parent):
		return "will be kept when its parent is deleted"
	case o.Released: // templater is no longer waiting for it, and it has no other link to the parent
		return "will be deleted after its parent"
	case plan.DeletedBeforeParent(o.Spec, l):
		return "is deleted before its parent"
	}
	return "is deleted with its parent"
}
