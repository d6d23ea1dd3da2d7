//go:build !race

package controllers

import (
	"runtime/debug"
	"testing"
)

// TestAllocations holds what a pass allocates when there is nothing to do. When a
// number goes up, find out why with BenchmarkQuietPass, -memprofile and
// -memprofilerate 1, and raise the limit only if what is allocated is needed.
// When it goes down, lower the limit. It may be 10 % above what is measured,
// for other versions of Go.
func TestAllocations(t *testing.T) {
	pass := quietPass(t)
	// A collection would empty the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for what, c := range map[string]struct {
		do    func()
		limit float64
	}{
		"a quiet pass over two children": {pass, 248}, // measured: 226
	} {
		if got := testing.AllocsPerRun(100, c.do); got > c.limit {
			t.Errorf("%s takes %.0f allocations, want at most %.0f", what, got, c.limit)
		}
	}
}
