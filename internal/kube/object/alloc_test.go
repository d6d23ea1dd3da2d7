//go:build !race

package object

import (
	"runtime/debug"
	"testing"
)

// TestAllocations limits the allocations of each event, each response and each use of an object. If a number increases, find out
// why with the benchmark of that name, -memprofile and -memprofilerate 1, and raise the limit only if the allocations are needed.
// If it decreases, lower the limit. The limit may be 10% above the measured value, for other versions of Go.
func TestAllocations(t *testing.T) {
	o := decode(t, child)
	content := o.Content()
	// A garbage collection would empty the pool of decoders.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for what, c := range map[string]struct {
		do    func()
		limit float64
	}{
		"Decode": {func() {
			if _, err := Decode([]byte(child)); err != nil {
				t.Fatal(err)
			}
		}, 8}, // measured: 8, including the text
		"Content":  {func() { o.Content() }, 50},                           // measured: 46
		"Applied":  {func() { o.Applied("templater/apps", "") }, 14},       // measured: 13
		"Append":   {func() { Append(make([]byte, 0, 1024), content) }, 1}, // measured: 1
		"metadata": {func() { _, _, _ = o.Label("templater.dev/controller"), o.Annotation("none"), o.Owners() }, 0},
	} {
		if got := testing.AllocsPerRun(100, c.do); got > c.limit {
			t.Errorf("%s takes %.0f allocations, want at most %.0f", what, got, c.limit)
		}
	}
}
