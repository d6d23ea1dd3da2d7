package reconcile

import (
	"cmp"
	"slices"
	"strings"
)

// sortLive sorts by kind, namespace and name, p-2 before p-10, and returns its argument.
func sortLive(children []*live) []*live {
	slices.SortFunc(children, func(a, b *live) int {
		x, y := a.id(), b.id()
		return cmp.Or(
			cmp.Compare(x.kind.Group, y.kind.Group), cmp.Compare(x.kind.Kind, y.kind.Kind),
			compareNatural(x.name.Namespace, y.name.Namespace), compareNatural(x.name.Name, y.name.Name))
	})
	return children
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
