//go:build !race

package controllers

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/store"
	"github.com/templater-dev/templater/internal/operator/metrics"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// TestQuietReconciliationAllocations limits the allocations of a reconciliation without changes. When the number rises,
// find out why with BenchmarkQuietReconciliation, -memprofile and -memprofilerate 1, and raise the limit only if the
// allocations are needed. When it drops, lower the limit. It may be 10 % above the measured value, to allow for other
// versions of Go.
func TestQuietReconciliationAllocations(t *testing.T) {
	reconcileOnce := quietReconciliation(t)
	// A garbage collection would empty the pools.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for what, c := range map[string]struct {
		do    func()
		limit float64
	}{
		"a quiet reconciliation of two children": {reconcileOnce, 248}, // measured: 226
	} {
		if got := testing.AllocsPerRun(100, c.do); got > c.limit {
			t.Errorf("%s takes %.0f allocations, want at most %.0f", what, got, c.limit)
		}
	}
}

// TestDecodingMemoryIsBounded decodes a TemplateController that is not compiled, as before each sync: its values stay
// text.
func TestDecodingMemoryIsBounded(t *testing.T) {
	const mappings = 100_000
	text := `{"apiVersion":"templater.dev/v1","kind":"TemplateController","metadata":{"name":"a"},"spec":{"values":{"a":[` + strings.Repeat(`{"":1},`, mappings) + `1]}}}`
	packed, err := object.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tc, err := store.Decode(packed)
	runtime.ReadMemStats(&after)
	if err != nil || len(tc.Spec.Values.Raw) < len(text)/2 {
		t.Fatalf("%v, with %d bytes of values", err, len(tc.Spec.Values.Raw))
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(8*len(text)) {
		t.Errorf("%d bytes are allocated for a text of %d", took, len(text))
	}
}

// TestTemplateControllerMemoryIsBounded compares the memory of many small TemplateControllers with their accounted
// size, and with a limit if they are not compiled.
func TestTemplateControllerMemoryIsBounded(t *testing.T) {
	const number = 200
	tiny := with(t, sized("NAME", "team", 20), "namespaces: [NAME]", "namespaces: [team]")
	tooLarge := with(t, tiny, "      #", "      #"+strings.Repeat("{{1}}", 50_000))
	var namespaces, entries []string
	for i := range 128 {
		namespaces = append(namespaces, fmt.Sprintf("%d-%s", i, strings.Repeat("a", 57)))
	}
	for i := range 63 {
		entries = append(entries, fmt.Sprintf("  - {name: %s%d, template: a, prunePolicy: Orphan, deletionPolicy: Orphan, scope: Cluster}\n", strings.Repeat("a", 60), i))
	}
	wide := with(t, tooLarge+strings.Join(entries, ""), "[team]", "["+strings.Join(namespaces, ", ")+"]")
	size := func(manifest string) int {
		tc := &v1.TemplateController{}
		if err := yaml.Unmarshal([]byte(manifest), tc); err != nil {
			t.Fatal(err)
		}
		return spec.Size(&tc.Spec)
	}
	for why, row := range map[string]struct {
		manifest string
		number   int
		most     int
	}{
		"a tiny one":                           {tiny, number, size(tiny)},
		"one that is invalid":                  {strings.Replace(tiny, "{{ .metadata.name }}", "{{", 1), number, 16 << 10},
		"one that is too large":                {tooLarge, number, 16 << 10},
		"one that is too large, and much else": {wide, 10, 160 << 10},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.startWith(Options{Meters: metrics.New().Meters()})
			for i := range row.number {
				c.KubectlApply(strings.ReplaceAll(row.manifest, "NAME", fmt.Sprint("tc-", i)))
			}
			c.Run()
			c.Deliver()
			c.Run()
			if len(c.controllers.tracked) != row.number {
				t.Fatalf("%d are known", len(c.controllers.tracked))
			}
			c.Server.Reset() // it uses memory, too
			before := heap()
			c.controllers.Close()
			c.controllers, c.shared, c.Operator, c.Listener = nil, nil, reconciletest.Operator{}, nil
			c.Watches.Reset()
			held := int(before-heap()) / row.number
			t.Logf("%d bytes are held, at most %d are expected", held, row.most)
			if held > row.most {
				t.Errorf("%d bytes are held, want at most %d", held, row.most)
			}
		})
	}
}
