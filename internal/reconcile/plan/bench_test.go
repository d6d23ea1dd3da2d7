package plan

import (
	"fmt"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
)

// quietInput returns an input with this number of children, all up to date.
func quietInput(tb testing.TB, children int) Input {
	tb.Helper()
	var sides []side
	for i := range children {
		sides = append(sides, side{name: fmt.Sprint("c-", i), group: "g", hash: "1"})
	}
	return inputFor(tb, v1.Child{Name: "g"}, sides, sides)
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := quietInput(b, n)
			b.ReportAllocs()
			for b.Loop() {
				Make(s)
			}
		})
	}
}
