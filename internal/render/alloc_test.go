//go:build !race

package render

import (
	"runtime/debug"
	"testing"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// TestAllocations holds what rendering allocates once a template's output was
// seen before. Most of it is the result: two allocations for each map and
// list, one for each text that is not in the data as it is.
//
// When a number goes up, find out why with BenchmarkChild, -memprofile and
// -memprofilerate 1, and raise the limit only if what is allocated is needed.
// When it goes down, lower the limit. It may be 10 % above what is measured,
// for other versions of Go.
func TestAllocations(t *testing.T) {
	p, err := Compile(Source{Status: benchStatus, Children: []syntax.Template{{Name: "configMap", Text: benchConfigMap}, {Name: "pod", Text: benchPod}, {Name: "x", Text: ""}}})
	if err != nil {
		t.Fatal(err)
	}
	in := benchInput()
	in.Observed = benchPods(false)
	// A collection would empty the pool of executions.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for what, c := range map[string]struct {
		do    func() error
		limit float64
	}{
		"a ConfigMap":              {func() error { _, err := p.Child("configMap", in); return err }, 24}, // measured: 22
		"a Pod":                    {func() error { _, err := p.Child("pod", in); return err }, 50},       // measured: 46
		"a status of 100 children": {func() error { _, err := p.Status(in); return err }, 25},             // measured: 23
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := c.do(); err != nil {
				t.Fatal(err)
			}
		})
		if got > c.limit {
			t.Errorf("%s takes %.0f allocations, want at most %.0f", what, got, c.limit)
		}
	}
}
