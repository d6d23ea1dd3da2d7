//go:build !race

package admission

import (
	"context"
	"maps"
	"net/http/httptest"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/finding"
)

// list returns a text of about that many bytes.
func list(text string, bytes int) string { return strings.Repeat(text, bytes/len(text)) }

// withSelector returns a manifest with these requirements in a labelSelector.
func withSelector(requirements string) string {
	return strings.Replace(manifestOf(entries(1, "a")...), `"children"`, `"related": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "labelSelector": {"matchExpressions": [`+requirements+`]}}], "children"`, 1)
}

// largest returns TemplateControllers of the maximum object size that are checked, and use much memory.
func largest() map[string]string {
	values := `"values": {"a": [` + list(`{"":0},`, 170_000) + `{}]}, "children"`
	return map[string]string{
		"templates of numbers":           manifestOf(entries(6, list("{{1}}", 13_850))...),
		"templates of arguments":         manifestOf(entries(1, "{{ print"+list(" 1", 99_900)+" }}")...),
		"templates of unknown arguments": manifestOf(entries(1, "{{ and"+list(" .a", 149_900)+" }}")...),
		"templates of keys":              manifestOf(entries(1, "{{ (fromYaml .metadata.name)"+list(".a", 99_900)+" }}")...),
		"templates with mistakes":        manifestOf(entries(6, list("{{1}}", 13_850)+"{{")...),
		"templates of text":              manifestOf(entries(6, list("x", 250_000))...),
		"templates of lines":             manifestOf(entries(6, list(`\n`, 250_000))...),
		"templates of YAML":              manifestOf(entries(12, "a: ["+list(":,", 120_000)+"]")...),
		"templates of fields":            manifestOf(entries(12, `apiVersion: v1\nkind: Pod\nspec:\n`+list(`  a: b\n`, 110_000))...),
		"templates of short YAML":        manifestOf(entries(64, list(`a:\n`, 20_000))...),
		"values":                         strings.Replace(manifestOf(entries(1, "a")...), `"children"`, values, 1),
		"some of all": strings.Replace(manifestOf(append(entries(3, list("x", 250_000)), `{"name": "b", "template": "{{ print`+list(" 1", 99_900)+` }}"}`, `{"name": "c", "template": "a: {`+list("a,", 59_900)+`}"}`)...),
			`"children"`, values, 1),
		"requirements of selectors": withSelector(list(`{"key":"a","operator":"Exists"},`, 1_400_000) + `{"key":"a","operator":"Exists"}`),
		"values of selectors":       withSelector(`{"key":"a","operator":"In","values":[` + list(`"",`, 1_400_000) + `""]}`),
	}
}

// refused returns requests of the maximum size that are not checked.
func refused() map[string]string {
	return map[string]string{
		"templates that are too long":        manifestOf(entries(8, list("{{1}}", 520_000))...),
		"more entries than there may be":     manifestOf(list("{},", 3_900_000) + "{}"),
		"actions beyond the bound":           manifestOf(entries(6, list("{{1}}", 260_000))...),
		"empty requirements":                 withSelector(list("{},", 1_400_000) + "{}"),
		"requirements that are none":         withSelector(list("1,", 1_400_000) + "1"),
		"fields that nobody reads":           strings.Replace(manifestOf(entries(1, "a")...), `"metadata": {`, `"metadata": {"managedFields": [`+list("{},", 1_500_000)+`{}],`, 1),
		"a request that is no review at all": `{"x": [` + list("[],", 3_900_000) + "[]]}",
	}
}

// check is the check of the operator, without schemas from the API server.
func check(ctx, _ context.Context, tc *v1.TemplateController) []finding.Finding {
	result, err := lint.CheckWith(ctx.Err, tc, openapi.BuiltIn())
	if err != nil {
		return nil
	}
	return result.Findings
}

// TestReviewMemoryIsBounded reviews the largest TemplateControllers, one by one: as new ones, and as updates.
func TestReviewMemoryIsBounded(t *testing.T) {
	h := newHandler(&Handler{Check: check})
	for why, text := range largest() {
		t.Run(why, func(t *testing.T) {
			update := &request{Operation: admissionv1.Update}
			update.Object.Raw = []byte(text)
			update.OldObject.Raw = []byte(strings.Replace(text, `"kind": "Pod"`, `"kind": "Node"`, 1))
			if fault := tooLarge(update.Object.Raw); fault != "" {
				t.Fatal("it is not checked: ", fault)
			}
			most := heldAtMost(func() { h.look(t.Context(), update) })
			t.Logf("%d bytes take at most %.1f MiB", len(text), float64(most)/(1<<20))
			if most > budget.MaxBytes {
				t.Errorf("%d bytes are held, want at most %d", most, budget.MaxBytes)
			}
		})
	}
}

// heldAtMost returns the maximum growth of the heap in bytes while do runs.
func heldAtMost(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	inUse := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(inUse)
	before := inUse[0].Value.Uint64()
	return sampled(inUse, do) - before
}

// TestConcurrentLargeReviewsRespectMemoryLimit: three clients concurrently send reviews that use as much memory as
// possible: of the maximum object size, and of the maximum request size.
func TestConcurrentLargeReviewsRespectMemoryLimit(t *testing.T) {
	const limit, clients = 460 << 20, 3
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	pool := queue.NewMemory(limit, queue.NewTenants())
	h := newHandler(&Handler{Check: check, Reserve: func(ctx context.Context) (func(), error) {
		var hold queue.Reservation
		hold.Open(ctx, pool, "reviews")
		if err := hold.Grow(0); err != nil {
			return nil, err
		}
		return hold.Close, nil
	}})
	all := largest()
	maps.Copy(all, refused())
	for why, text := range all {
		t.Run(why, func(t *testing.T) {
			debug.FreeOSMemory()
			body := reviewOf(text)
			most := peak(func() {
				var all sync.WaitGroup
				for range clients {
					all.Go(func() {
						w := httptest.NewRecorder()
						h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", Path, strings.NewReader(body)))
						if w.Code != 200 {
							t.Errorf("the answer is %d %s", w.Code, w.Body)
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

// peak returns the maximum memory of the process in bytes while do runs.
func peak(do func()) uint64 {
	return sampled([]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}, do)
}

// sampled returns the maximum of the first sample while do runs, minus the second one, if there is one.
func sampled(samples []metrics.Sample, do func()) (most uint64) {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			metrics.Read(samples)
			now := samples[0].Value.Uint64()
			for _, less := range samples[1:] {
				now -= less.Value.Uint64()
			}
			most = max(most, now)
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
