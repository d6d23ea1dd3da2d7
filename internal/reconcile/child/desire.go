package child

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

// mostLooks is how often the templates are rendered, where objects turn out to belong to other entries
// of spec.children than was known.
const mostLooks = 8

// Desire returns the desired children of a parent, paired with the observed ones, and those that may be written. The templates see each
// object under the name of the child template that yields it; input returns what else they see, and is called anew each time.
func (f *Factory) Desire(parent *object.Object, entries Entries, observed []*Live, input func() *render.Input) (Desired, []*Wanted) {
	for range mostLooks - 1 {
		d := f.Render(parent, entries, input())
		free, moved := d.Pair(observed)
		if !moved {
			return d, free
		}
		for _, l := range observed {
			l.Wanted = nil
		}
	}
	d := f.Render(parent, entries, input())
	free, moved := d.Pair(observed)
	if moved { // the next reconciliation sees it by what is written now
		d.Faults = append(d.Faults, Fault{Always: true, Problem: &problem.Problem{
			Reason: v1.ReasonProgressing, Message: "child templates were renamed: relabelling their objects", Waiting: true, Retry: problem.RetryNow,
		}})
	}
	return d, free
}

// Pair pairs desired and observed children by kind and name. An object belongs to the child template that
// yields it, whichever one it was made from; its label counts only if no template yields it. It is not taken
// from a child template that has failed, which might still yield it. Pair returns the desired children that
// may be written, and whether some object now belongs to another child template.
func (d *Desired) Pair(all []*Live) (free []*Wanted, moved bool) {
	there := make(map[ID]*Live, len(all))
	for _, l := range all {
		there[l.ID()] = l
	}
	free = make([]*Wanted, 0, len(d.Wanted))
	for _, w := range d.Wanted {
		l := there[w.ID()]
		if l != nil && l.Entry != w.Entry.Name {
			if slices.Contains(d.Failed, l.Entry) {
				continue
			}
			l.Entry, moved = w.Entry.Name, true
		}
		if w.Live = l; l != nil {
			l.Wanted = w
		}
		free = append(free, w)
	}
	return free, moved
}
