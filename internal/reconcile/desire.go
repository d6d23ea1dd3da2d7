package reconcile

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/problem"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// mostLooks is how often a pass renders the children, where objects turn out to belong to other entries
// of spec.children than was known.
const mostLooks = 8

// desire returns what the templates want, and which of it may be written. They see each
// object under the name of the entry that wants it.
func (p *pass) desire(observed []*child.Live) (child.Desired, []*child.Wanted) {
	for range mostLooks - 1 {
		d := p.Factory.Render(p.parent, p.entries, p.input(observed))
		free, moved := d.Pair(observed)
		if !moved {
			return d, free
		}
		for _, l := range observed {
			l.Wanted = nil
		}
	}
	d := p.Factory.Render(p.parent, p.entries, p.input(observed))
	free, moved := d.Pair(observed)
	if moved { // what is written now tells the next pass
		d.Faults = append(d.Faults, child.Fault{Always: true, Problem: &problem.Problem{
			Reason: v1.ReasonProgressing, Message: "objects take on the new names of their entries in spec.children", Waiting: true, Retry: problem.RetryNow,
		}})
	}
	return d, free
}
