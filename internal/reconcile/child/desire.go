package child

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

// maxRenders limits how often the templates are rendered in a reconciliation. They are rendered again if an object turns out to belong to
// another child template than assumed.
const maxRenders = 8

// Desire returns the desired children of a parent, paired with the observed ones, and the desired children that may be written. Templates see
// each object under the child template that renders it. input returns the rest of the template input, and is called for each rendering.
func (f *Factory) Desire(parent *object.Object, entries Entries, observed []*Live, input func() *render.Input) (Desired, []*Wanted) {
	for range maxRenders - 1 {
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
	if moved { // what is written now lets the next reconciliation find it
		d.Faults = append(d.Faults, Fault{Always: true, Problem: &problem.Problem{
			Reason: v1.ReasonProgressing, Message: "child templates were renamed: relabeling their objects", Waiting: true, Retry: problem.RetryNow,
		}})
	}
	return d, free
}

// Pair pairs desired and observed children by kind and name. An object belongs to the child template that renders it, even if it was created
// from another one; its label counts only if no template renders it. It is not taken from a child template that has failed, because that might
// still render it. Pair returns the desired children that may be written, and whether any object has moved to another child template.
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
			if issue := w.NotReleasable(l.Object); issue != nil {
				d.Faults = append(d.Faults, Fault{Problem: issue, Entry: w.Entry.Name, Always: true})
				continue
			}
		}
		free = append(free, w)
	}
	return free, moved
}
