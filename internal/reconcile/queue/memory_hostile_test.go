//go:build !race

package queue

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// hoarding is a template that uses as much memory as a reconciliation may use.
const hoarding = `{{ $json := print "[" (repeat 3000 "{\"\":1},") "1]" }}{{ $all := list }}{{ range 1000 }}{{ $all = append $all (fromJson $json) }}{{ end }}`

// TestGreedyReconciliationsRespectMemoryLimit runs one reconciliation per worker concurrently. Each uses as much memory
// as it may.
func TestGreedyReconciliationsRespectMemoryLimit(t *testing.T) {
	const limit, workers = 460 << 20, 32
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	pool := NewMemory(limit, NewTenants())
	p, err := render.Compile(render.Source{Children: []syntax.Template{{Name: "x", Text: hoarding}}})
	must(t, err)
	ended := make(chan struct{})
	var peak uint64
	var held int
	var watching sync.WaitGroup
	watching.Go(func() {
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			metrics.Read(samples)
			peak = max(peak, samples[0].Value.Uint64()-samples[1].Value.Uint64())
			held = max(held, pool.Held())
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			h := pool.reservation(t, string(rune('a'+i%4)))
			defer h.Close()
			var budget budget.Budget
			budget.Begin(h)
			if _, err := p.Child("x", &render.Input{Budget: &budget}); err == nil {
				t.Error("a reconciliation has not used up its budget")
			}
		})
	}
	all.Wait()
	close(ended)
	watching.Wait()
	t.Logf("at most %d MiB are held, and %d MiB used", held>>20, peak>>20)
	if most := limit / memoryShare; held > most {
		t.Errorf("%d MiB are held at a time, want at most %d", held>>20, most>>20)
	}
	if peak > 512<<20 {
		t.Errorf("%d MiB of memory are used, want at most 512", peak>>20)
	}
}
