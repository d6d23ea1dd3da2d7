//go:build !race

package controllers

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/kube/object"
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

// TestDecodingTakesAFewTimesTheText reads a TemplateController that is not compiled, as before each look at it: its values stay text.
func TestDecodingTakesAFewTimesTheText(t *testing.T) {
	const mappings = 100_000
	text := `{"apiVersion":"templater.dev/v1","kind":"TemplateController","metadata":{"name":"a"},"spec":{"values":{"a":[` + strings.Repeat(`{"":1},`, mappings) + `1]}}}`
	packed, err := object.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tc, err := decode(packed)
	runtime.ReadMemStats(&after)
	if err != nil || len(tc.Spec.Values.Raw) < len(text)/2 {
		t.Fatalf("%v, with %d bytes of values", err, len(tc.Spec.Values.Raw))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(8*len(text)) {
		t.Errorf("%d bytes are allocated for a text of %d", took, len(text))
	}
}
