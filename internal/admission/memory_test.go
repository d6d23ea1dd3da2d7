//go:build !race

package admission

import (
	"context"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/workers"
)

// TestManyLargeReviewsStayWithinTheMemoryLimit has three clients send reviews at a time that take as much memory as they can: as large as
// an object may be, and as large as a request may be.
func TestManyLargeReviewsStayWithinTheMemoryLimit(t *testing.T) {
	const limit, clients, rounds = 460 << 20, 3, 4
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	pool := workers.NewMemory(limit, queue.NewTenants())
	h := New(&Handler{Check: compile, Reserve: func(ctx context.Context, bytes int) (func(), error) {
		var hold workers.Reservation
		hold.Open(ctx, pool, "reviews")
		if err := hold.Grow(bytes); err != nil {
			return nil, err
		}
		return hold.Close, nil
	}})
	h.limit = time.Minute // so that each is checked, however busy the machine is
	list := func(text string) string { return strings.Repeat(text, 260_000/len(text)) }
	for why, text := range map[string]string{
		"templates of numbers":               manifestOf(entries(6, list("{{1}}"))...),
		"templates of arguments":             manifestOf(entries(6, "{{ print"+list(" 1")+" }}")...),
		"templates of unknown arguments":     manifestOf(entries(6, "{{ and"+list(" .a")+" }}")...),
		"templates of keys":                  manifestOf(entries(6, "{{ (fromYaml .metadata.name)"+list(".a")+" }}")...),
		"templates that are too long":        manifestOf(entries(8, strings.Repeat("{{1}}", 104_000))...),
		"more entries than there may be":     manifestOf(strings.Repeat("{},", 1_300_000) + "{}"),
		"values":                             strings.Replace(manifestOf(entries(1, "a")...), `"children"`, `"values": {"a": [`+strings.Repeat(`{"":0},`, 200_000)+`{}]}, "children"`, 1),
		"selectors":                          strings.Replace(manifestOf(entries(1, "a")...), `"children"`, `"related": [{"name": "a", "labelSelector": {"matchExpressions": [`+strings.Repeat(`{},`, 500_000)+`{}]}}], "children"`, 1),
		"fields that nobody reads":           strings.Replace(manifestOf(entries(1, "a")...), `"metadata": {`, `"metadata": {"managedFields": [`+strings.Repeat(`{},`, 500_000)+`{}],`, 1),
		"a request that is no review at all": `{"x": [` + strings.Repeat("[],", 1_300_000) + "[]]}",
	} {
		t.Run(why, func(t *testing.T) {
			debug.FreeOSMemory()
			body := reviewOf(text)
			most := peak(func() {
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						for range rounds {
							w := httptest.NewRecorder()
							h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", Path, strings.NewReader(body)))
							if w.Code != 200 {
								t.Errorf("the answer is %d %s", w.Code, w.Body)
							}
						}
					})
				}
				all.Wait()
			})
			t.Logf("%d bytes in each review take at most %d MiB", len(body), most>>20)
			if most > 512<<20 {
				t.Errorf("%d MiB of memory are used, want at most 512", most>>20)
			}
		})
	}
}

// peak returns how many bytes the process has had at most meanwhile.
func peak(do func()) (most uint64) {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			metrics.Read(samples)
			most = max(most, samples[0].Value.Uint64()-samples[1].Value.Uint64())
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	do()
	close(ended)
	watching.Wait()
	return most
}
