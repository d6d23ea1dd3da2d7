package child

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/problem"
)

// Sort sorts by kind, namespace and name, p-2 before p-10, and returns its argument.
func Sort(children []*Live) []*Live {
	slices.SortFunc(children, func(a, b *Live) int {
		x, y := a.ID(), b.ID()
		return cmp.Or(
			cmp.Compare(x.Kind.Group, y.Kind.Group), cmp.Compare(x.Kind.Kind, y.Kind.Kind),
			compareNatural(x.Name.Namespace, y.Name.Namespace), compareNatural(x.Name.Name, y.Name.Name))
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

// compareNatural orders texts as people do: runs of digits by their number.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, restA := run(a)
		y, restB := run(b)
		if c := compareRuns(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

// run cuts off the leading run of digits, or of other characters.
func run(s string) (head, rest string) {
	i := 1
	for i < len(s) && digit(s[i]) == digit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}

func compareRuns(a, b string) int {
	if !digit(a[0]) || !digit(b[0]) {
		return cmp.Compare(a, b)
	}
	x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(a, b))
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
