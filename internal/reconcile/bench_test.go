package reconcile

import (
	"fmt"
	"testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// quietPass returns a pass over a parent with two ConfigMaps that finds nothing different: what
// each resync costs, and each event that needs no write.
func quietPass(tb testing.TB) func() {
	tb.Helper()
	c := newCluster(tb)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.deliver()
	c.run()
	key, before := queue.Key{Controller: "apps", Parent: configMapName("one")}, len(c.requests)
	return func() {
		c.reconciler.Reconcile(tb.Context(), key)
		if made := len(c.requests) - before; made > 0 {
			tb.Fatalf("%d requests in quiet passes", made)
		}
	}
}

// quietSituation has that many children, of which nothing is different.
func quietSituation(tb testing.TB, children int) situation {
	tb.Helper()
	var sides []side
	for i := range children {
		sides = append(sides, side{name: fmt.Sprint("c-", i), group: "g", hash: "1"})
	}
	return situationFor(tb, v1.Child{Name: "g"}, sides, sides)
}

func BenchmarkQuietPass(b *testing.B) {
	pass := quietPass(b)
	b.ReportAllocs()
	for b.Loop() {
		pass()
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := quietSituation(b, n)
			b.ReportAllocs()
			for b.Loop() {
				planFor(s)
			}
		})
	}
}
