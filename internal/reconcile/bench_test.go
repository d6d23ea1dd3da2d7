package reconcile

import (
	"testing"
)

// BenchmarkQuietPass is a pass over a parent with two ConfigMaps that finds nothing different: what
// each resync costs, and each event that needs no write.
func BenchmarkQuietPass(b *testing.B) {
	c := newCluster(b)
	c.apply(apps)
	c.apply(app)
	c.run()
	c.deliver()
	c.run()
	key := Key{"apps", configMapName("one")}
	before := len(c.requests)
	b.ReportAllocs()
	for b.Loop() {
		c.reconciler.Reconcile(b.Context(), key)
	}
	if made := len(c.requests) - before; made > 0 {
		b.Errorf("%d requests in quiet passes", made)
	}
}
