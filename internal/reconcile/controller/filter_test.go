//go:build !race

package controller

import (
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/render"
)

// TestConcurrentFiltersRespectMemoryLimit evaluates a filter for many objects concurrently. Each decoded object takes many times the memory of
// its text.
func TestConcurrentFiltersRespectMemoryLimit(t *testing.T) {
	const limit, workers = 460 << 20, 16
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	program, err := render.Compile(render.Source{Filter: `eq (len .spec.items) 1`})
	if err != nil {
		t.Fatal(err)
	}
	o, err := object.Decode([]byte(`{"apiVersion":"example.org/v1","kind":"App","metadata":{"name":"large"},"spec":{"items":[` + strings.Repeat(`{"":1},`, 100_000) + `1]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var peak uint64
	ended := make(chan struct{})
	var watching, all sync.WaitGroup
	watching.Go(func() {
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			metrics.Read(samples)
			peak = max(peak, samples[0].Value.Uint64()-samples[1].Value.Uint64())
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	for range workers {
		all.Go(func() {
			if admits, err := Evaluate(program, o); admits || err != nil {
				t.Errorf("admitted: %v, error: %v", admits, err)
			}
		})
	}
	all.Wait()
	close(ended)
	watching.Wait()
	t.Logf("%d MiB of memory are used", peak>>20)
	if peak > 250<<20 {
		t.Errorf("%d MiB of memory are used, want at most 250", peak>>20)
	}
}
