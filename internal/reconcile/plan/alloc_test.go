//go:build !race

package plan

import (
	"runtime/debug"
	"testing"
)

// TestAllocations limits the allocations of a plan if there is nothing to do.
func TestAllocations(t *testing.T) {
	ten := quietInput(t, 10)
	// Garbage collection would empty the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if got := testing.AllocsPerRun(100, func() { Make(ten) }); got > 0 {
		t.Errorf("a plan for ten children takes %.0f allocations, want none", got)
	}
}
