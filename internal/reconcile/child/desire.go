package child

import (
	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render"
)

// mostLooks is how often the templates are rendered, where objects turn out to belong to other entries
// of spec.children than was known.
const mostLooks = 8

// Desire returns what the templates want for a parent, paired with the objects that there are, and which of it may be written. The
// templates see each object under the name of the entry that wants it; input returns what else they see, and is called anew each time.
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
	if moved { // what is written now tells the next pass
		d.Faults = append(d.Faults, Fault{Always: true, Problem: &problem.Problem{
			Reason: v1.ReasonProgressing, Message: "objects take on the new names of their entries in spec.children", Waiting: true, Retry: problem.RetryNow,
		}})
	}
	return d, free
}
