package related

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
)

// many is the number of parents and of related objects.
const many = 10_000

// ways are the ways to select one of many Pods, each of which has its own namespace and label.
var ways = map[string]func(i int) map[string]any{
	"name":      func(i int) map[string]any { return map[string]any{"name": fmt.Sprint("p", i)} },
	"far":       func(i int) map[string]any { return map[string]any{"name": fmt.Sprint("p", i), "allNamespaces": true} },
	"namespace": func(i int) map[string]any { return map[string]any{"namespace": fmt.Sprint("ns", i)} },
	"label": func(i int) map[string]any {
		return map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": fmt.Sprint("a", i)}}, "allNamespaces": true}
	},
	"label here": func(i int) map[string]any {
		return map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": fmt.Sprint("a", i)}}}
	},
}

func podOf(t testing.TB, i int, phase string, version int) *object.Object {
	return pod(t, fmt.Sprint("ns", i), fmt.Sprint("p", i), fmt.Sprint("a", i), phase, version)
}

func parentOf(i int) types.NamespacedName { return in(fmt.Sprint("ns", i), fmt.Sprint("one", i)) }

// podsOf returns many Pods.
func podsOf(t testing.TB) []any {
	list := make([]any, many)
	for i := range list {
		list[i] = podOf(t, i, "Running", i+1)
	}
	return list
}

// crowd returns an entry with many Pods and as many parents, each of which selects one Pod.
func crowd(t testing.TB, list []any, selects func(i int) map[string]any) (*Entry, []Selection) {
	t.Helper()
	e := entryOf(t, false)
	if err := e.Caches[""].Replace(list, fmt.Sprint(many)); err != nil {
		t.Fatal(err)
	}
	selections := make([]Selection, many)
	for i := range selections {
		selections[i] = e.choose(t, parentOf(i), selects(i))
	}
	return e, selections
}

// TestSingleChangeAffectsOneParent: each of many parents selects one of many Pods. A change must not visit all parents,
// and a parent must not visit all Pods: either would take minutes.
func TestSingleChangeAffectsOneParent(t *testing.T) {
	list := podsOf(t)
	for way, selects := range ways {
		e, selections := crowd(t, list, selects)
		for i := range many {
			if got := e.Find(selections[i]); len(got) != 1 || got[0].Name() != fmt.Sprint("p", i) {
				t.Fatalf("by %s: parent %d sees %v", way, i, got)
			}
			if byLabel := strings.HasPrefix(way, "label"); byLabel != (selections[i][0].Term().Label == "app") {
				t.Fatalf("by %s: the label %q is looked up", way, selections[i][0].Term().Label)
			}
			before, _ := list[i].(*object.Object)
			if got := e.woken(before, before); len(got) != 1 || got[0] != parentOf(i).Name {
				t.Fatalf("by %s: a change of Pod %d has %q looked at", way, i, got)
			}
		}
		for i := range many {
			e.Index.Forget(parentOf(i))
		}
		if got := e.woken(podOf(t, 1, "Running", 1), podOf(t, 1, "Failed", many)); len(got) > 0 || len(e.Index.parents) > 0 {
			t.Errorf("by %s: left are %q", way, got)
		}
	}
}

// BenchmarkChange measures a change of one of many related objects if as many parents select one each.
func BenchmarkChange(b *testing.B) {
	for way, selects := range ways {
		b.Run(way, func(b *testing.B) {
			e, _ := crowd(b, podsOf(b), selects)
			event := watch.Event{Old: podOf(b, 7, "Running", 1), New: podOf(b, 7, "Failed", 2)}
			b.ReportAllocs()
			for b.Loop() {
				e.Changed(event, func(types.NamespacedName) {})
			}
		})
	}
}

// BenchmarkSelect measures how long a reconciliation takes to compute what the parent selects.
func BenchmarkSelect(b *testing.B) {
	for way, selects := range ways {
		b.Run(way, func(b *testing.B) {
			e, _ := crowd(b, podsOf(b), selects)
			yielded, parent := []map[string]any{selects(7)}, parentOf(7)
			b.ReportAllocs()
			for b.Loop() {
				s, _ := e.Choose(parent, yielded, maxText)
				e.Find(s)
			}
		})
	}
}

// BenchmarkMemory reports the memory of a related object and a parent that selects it, without the text of the object.
func BenchmarkMemory(b *testing.B) {
	for way, selects := range ways {
		b.Run(way, func(b *testing.B) {
			for b.Loop() {
				e := entryOf(b, false)
				list := podsOf(b)
				empty := heap()
				if err := e.Caches[""].Replace(list, fmt.Sprint(many)); err != nil {
					b.Fatal(err)
				}
				filed := heap()
				for i := range many {
					e.Find(e.choose(b, parentOf(i), selects(i)))
				}
				b.ReportMetric(float64(filed-empty)/many, "B/object")
				b.ReportMetric(float64(heap()-filed)/many, "B/parent")
				runtime.KeepAlive(list)
				runtime.KeepAlive(e)
			}
		})
	}
}

// heap returns the heap size once garbage collection frees no more: strings interned by earlier tests are freed in the
// background.
func heap() uint64 {
	var m runtime.MemStats
	held := uint64(math.MaxUint64)
	for range 10 {
		runtime.GC()
		runtime.GC() // for what the first one swept
		runtime.ReadMemStats(&m)
		if m.HeapAlloc+1<<10 > held {
			break
		}
		held = m.HeapAlloc
	}
	return m.HeapAlloc
}
