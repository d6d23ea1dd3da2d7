package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// CompareKeys orders objects by namespace and name, p-2 before p-10.
func CompareKeys(a, b types.NamespacedName) int {
	return cmp.Or(compareNatural(a.Namespace, b.Namespace), compareNatural(a.Name, b.Name))
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
