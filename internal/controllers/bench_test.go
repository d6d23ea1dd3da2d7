package controllers

import (
	"testing"

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

func BenchmarkQuietPass(b *testing.B) {
	pass := quietPass(b)
	b.ReportAllocs()
	for b.Loop() {
		pass()
	}
}
