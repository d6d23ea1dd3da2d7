package child

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Sort sorts by kind, namespace and name, p-2 before p-10, and returns its argument.
func Sort(children []*Live) []*Live {
	slices.SortFunc(children, func(a, b *Live) int {
		x, y := a.ID(), b.ID()
		return cmp.Or(cmp.Compare(x.Kind.Group, y.Kind.Group), cmp.Compare(x.Kind.Kind, y.Kind.Kind), object.CompareKeys(x.Name, y.Name))
	})
	return children
}

// Going says that children are still to go. It names few, so that the text does not change with each one that goes.
func Going(left []*Live) string {
	const most = 3
	if len(left) > most {
		return fmt.Sprintf("being deleted: waits for its children to go, of which more than %d are left", most)
	}
	return "being deleted: waits for its children to go: " + problem.JoinFunc(Sort(left), func(l *Live) string { return l.ID().String() }) + "; what keeps one is in its metadata.finalizers"
}
