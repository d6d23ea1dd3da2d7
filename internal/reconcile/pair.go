package reconcile

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// mostLooks is how often a pass renders the children, where objects turn out to belong to other entries
// of spec.children than was known.
const mostLooks = 8

// desire returns what the templates want, and which of it may be written. They see each
// object under the name of the entry that wants it.
func (p *pass) desire(observed []*live) (desire, []*wanted) {
	for range mostLooks - 1 {
		d := desireFor(p.controller, p.parent, p.input(observed))
		free, moved := pair(d, observed)
		if !moved {
			return d, free
		}
		for _, l := range observed {
			l.wanted = nil
		}
	}
	d := desireFor(p.controller, p.parent, p.input(observed))
	free, moved := pair(d, observed)
	if moved { // what is written now tells the next pass
		d.problems = append(d.problems, &problem.Problem{Reason: v1.ReasonProgressing, Message: "objects take on the new names of their entries in spec.children", Waiting: true, Retry: problem.RetryNow})
	}
	return d, free
}

// pair brings together what is wanted and what is there, by kind and name. An object belongs to
// the entry of spec.children that wants it, whatever entry it was made from; its label tells only where
// nobody wants it. It is not taken from an entry that has failed, and may want it still. pair
// returns what is wanted and may be written, and whether some object belongs to another entry now.
func pair(d desire, all []*live) (free []*wanted, moved bool) {
	there := make(map[identity]*live, len(all))
	for _, l := range all {
		there[l.id()] = l
	}
	free = make([]*wanted, 0, len(d.wanted))
	for _, w := range d.wanted {
		l := there[w.id()]
		if l != nil && l.child != w.child.Name {
			if slices.Contains(d.failed, l.child) {
				continue
			}
			l.child, moved = w.child.Name, true
		}
		if w.live = l; l != nil {
			l.wanted = w
		}
		free = append(free, w)
	}
	return free, moved
}
