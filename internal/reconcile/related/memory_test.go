//go:build !race

package related

import (
	"fmt"
	"runtime"
	"testing"
)

// TestSelectionSizeMatchesHeapUsage: parents select as much as they may, in the ways that use the most memory.
func TestSelectionSizeMatchesHeapUsage(t *testing.T) {
	const parents, size = 100, 1000
	labels := func(m map[string]any) map[string]any {
		return map[string]any{"allNamespaces": true, "labelSelector": m}
	}
	for why, of := range map[string]func(i int) map[string]any{
		"names":            func(i int) map[string]any { return map[string]any{"name": fmt.Sprint(i)} },
		"names everywhere": func(i int) map[string]any { return map[string]any{"name": fmt.Sprint(i), "allNamespaces": true} },
		"namespaces":       func(i int) map[string]any { return map[string]any{"namespace": fmt.Sprint(i)} },
		"long names": func(i int) map[string]any {
			return map[string]any{"name": fmt.Sprintf("%0100d", i), "namespace": fmt.Sprintf("%0100d", i)}
		},
		"one label": func(i int) map[string]any {
			return labels(map[string]any{"matchLabels": map[string]any{"a": fmt.Sprint(i)}})
		},
		"many short values": func(i int) map[string]any {
			return labels(map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "NotIn", "values": []any{fmt.Sprint(i), "b", "c", "d", "e", "f", "g", "h", "i"}}}})
		},
		"many keys": func(i int) map[string]any {
			all := map[string]any{}
			for j := range 20 {
				all[fmt.Sprint("a", j)] = fmt.Sprint(i)
			}
			return labels(map[string]any{"matchLabels": all})
		},
		"keys without values": func(i int) map[string]any {
			return labels(map[string]any{"matchExpressions": []any{map[string]any{"key": fmt.Sprint("a", i), "operator": "Exists"}}})
		},
	} {
		t.Run(why, func(t *testing.T) {
			e := entryOf(t, false)
			most, accepted := SelectionLimit(size), 0
			var yielded []map[string]any
			for i := range 256 {
				next := append(yielded, of(i))
				if _, issue := e.Choose(in("ns", "one"), next, most); issue != nil {
					break
				}
				yielded, accepted = next, i+1
			}
			e = entryOf(t, false)
			before := heap()
			said := 0
			for i := range parents {
				s, issue := e.Choose(in("ns", fmt.Sprint("one", i)), yielded, most)
				if issue != nil {
					t.Fatal(issue.Message)
				}
				said = s.Size()
			}
			each := int(heap()-before) / parents
			runtime.KeepAlive(e)
			t.Logf("%d mappings take %d bytes, and count as %d", accepted, each, said)
			if each > said+1024 || said > most {
				t.Errorf("%d mappings take %d bytes, and count as %d of %d", accepted, each, said, most)
			}
		})
	}
}
