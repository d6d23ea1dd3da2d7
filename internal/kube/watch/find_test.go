package watch

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/object"
)

// pod is a related object.
func pod(namespace, name, app string, version int) *object.Object {
	return pack(map[string]any{"metadata": map[string]any{
		"namespace": namespace, "name": name, "uid": name, "resourceVersion": fmt.Sprint(version), "labels": map[string]any{"app": app},
	}})
}

// found returns the names of the objects that Find returns for a term.
func (r *recorder) found(term Term) []string {
	names := []string{}
	r.Find(term, func(o *object.Object) { names = append(names, o.Key().String()) })
	slices.Sort(names)
	return names
}

// TestFindFollowsWatch looks up objects before and after they are added, changed and deleted.
func TestFindFollowsWatch(t *testing.T) {
	terms := map[string]Term{
		"all":         {},
		"namespace":   {Namespace: "a"},
		"name":        {Namespace: "a", Name: "one"},
		"everywhere":  {Name: "one"},
		"label":       {Label: "app", Value: "web"},
		"label there": {Namespace: "b", Label: "app", Value: "web"},
		"all three":   {Namespace: "a", Name: "one", Label: "app", Value: "web"},
		"none":        {Namespace: "c"},
	}
	for why, warm := range map[string]bool{"asked before": true, "asked for the first time": false} {
		r := newRecorder(t, Want{Role: Related})
		ask := func(now string, want map[string][]string) {
			t.Helper()
			for what, term := range terms {
				names := want[what]
				if names == nil {
					names = []string{}
				}
				if diff := cmp.Diff(names, r.found(term)); diff != "" {
					t.Errorf("%s, %s, %s (-want +found):\n%s", why, now, what, diff)
				}
			}
		}
		if warm {
			ask("empty", nil)
		}
		if err := r.Replace([]any{pod("a", "one", "web", 1), pod("a", "two", "web", 2), pod("b", "one", "db", 3)}, "10"); err != nil {
			t.Fatal(err)
		}
		if warm {
			ask("listed", map[string][]string{
				"all": {"a/one", "a/two", "b/one"}, "namespace": {"a/one", "a/two"}, "name": {"a/one"}, "everywhere": {"a/one", "b/one"},
				"label": {"a/one", "a/two"}, "all three": {"a/one"},
			})
		}
		for _, o := range []*object.Object{pod("b", "one", "web", 11), pod("a", "one", "db", 12), pod("a", "three", "web", 13)} {
			if err := r.Update(o); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Delete(pod("a", "two", "web", 14)); err != nil {
			t.Fatal(err)
		}
		ask("changed", map[string][]string{
			"all": {"a/one", "a/three", "b/one"}, "namespace": {"a/one", "a/three"}, "name": {"a/one"}, "everywhere": {"a/one", "b/one"},
			"label": {"a/three", "b/one"}, "label there": {"b/one"},
		})
	}
}

// TestFindBeyondLabelIndexLimit looks up labels that are not indexed.
func TestFindBeyondLabelIndexLimit(t *testing.T) {
	r := newRecorder(t, Want{Role: Related})
	if err := r.Replace([]any{pod("a", "one", "web", 1), pod("b", "one", "web", 2)}, "10"); err != nil {
		t.Fatal(err)
	}
	for i := range maxLabels {
		r.found(Term{Label: fmt.Sprint("l", i), Value: "x"})
	}
	for term, want := range map[Term][]string{
		{Label: "app", Value: "web"}:                 {"a/one", "b/one"},
		{Label: "app", Value: "db"}:                  {},
		{Namespace: "b", Label: "app", Value: "web"}: {"b/one"},
	} {
		for range 2 {
			if diff := cmp.Diff(want, r.found(term)); diff != "" {
				t.Errorf("%+v (-want +found):\n%s", term, diff)
			}
		}
	}
}

// TestUnusedLabelIndexIsEvicted looks up more labels than can be indexed, one after the other.
func TestUnusedLabelIndexIsEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, Want{Role: Related})
		if err := r.Replace([]any{pod("a", "one", "web", 1)}, "10"); err != nil {
			t.Fatal(err)
		}
		web := Term{Label: "app", Value: "web"}
		find := func(terms ...Term) {
			for _, term := range terms {
				r.found(term)
			}
		}
		filed := func(why string, want bool) {
			t.Helper()
			if diff := cmp.Diff([]string{"a/one"}, r.found(web)); diff != "" {
				t.Errorf("%s (-want +found):\n%s", why, diff)
			}
			if r.related.index.Has(web.Facet()) != want {
				t.Errorf("%s: objects are filed by the label: %t, want %t", why, !want, want)
			}
		}
		used := make([]Term, maxLabels)
		for i := range used {
			used[i] = Term{Label: fmt.Sprint("l", i), Value: "x"}
		}
		find(used...)
		filed("there is no room", false)
		for range 3 {
			<-time.After(labelIdle)
			find(used...)
			filed("all others are in use", false)
		}
		find(used[1:]...)
		<-time.After(labelIdle - 1)
		filed("one is not in use, for some time", false)
		<-time.After(1)
		filed("one is not in use for long", true)
		if r.related.index.Has(used[0].Facet()) {
			t.Error("what nobody uses is there still")
		}
		for _, term := range used[1:] {
			if !r.related.index.Has(term.Facet()) {
				t.Errorf("%s is in use, and gone", term.Label)
			}
		}
		if err := r.Update(pod("a", "one", "web", 11)); err != nil {
			t.Fatal(err)
		}
		find(used[0])
		filed("the other one finds no room now", true)
	})
}

// TestConcurrentFindDuringLabelEviction concurrently looks up more labels than can be indexed.
func TestConcurrentFindDuringLabelEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(t, Want{Role: Related})
		labels := map[string]any{}
		for i := range 2 * maxLabels {
			labels[fmt.Sprint("l", i)] = "x"
		}
		if err := r.Replace([]any{pack(map[string]any{"metadata": map[string]any{"name": "one", "labels": labels}})}, "10"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 2 * maxLabels {
			all.Go(func() {
				for round := range 20 {
					<-time.After(labelIdle * time.Duration(1+(i+round)%4))
					if got := r.found(Term{Label: fmt.Sprint("l", i), Value: "x"}); len(got) != 1 {
						t.Errorf("label %d: found %q", i, got)
					}
				}
			})
		}
		all.Wait()
	})
}

// TestFindInSingleNamespaceCache does not index by the namespace that all objects share.
func TestFindInSingleNamespaceCache(t *testing.T) {
	r := newRecorder(t, Want{Role: Related, Namespace: "a"})
	if err := r.Replace([]any{pod("a", "one", "web", 1)}, "10"); err != nil {
		t.Fatal(err)
	}
	for term, want := range map[Term][]string{{Namespace: "a"}: {"a/one"}, {Namespace: "b"}: {}, {Namespace: "a", Label: "app", Value: "web"}: {"a/one"}} {
		if diff := cmp.Diff(want, r.found(term)); diff != "" {
			t.Errorf("%+v (-want +found):\n%s", term, diff)
		}
	}
	if r.related.index.Has(Facet{Namespace: true, Label: "app"}) {
		t.Error("objects are filed by a namespace that they share")
	}
}

// BenchmarkFind looks up one of many objects, as each reconciliation does for each entry of spec.related.
func BenchmarkFind(b *testing.B) {
	r := newRecorder(b, Want{Role: Related})
	var list []any
	for i := range 10_000 {
		list = append(list, pod(fmt.Sprint("ns", i), "one", fmt.Sprint("a", i), i+1))
	}
	if err := r.Replace(list, "10001"); err != nil {
		b.Fatal(err)
	}
	for way, term := range map[string]Term{"namespace": {Namespace: "ns7"}, "label": {Label: "app", Value: "a7"}, "both": {Namespace: "ns7", Label: "app", Value: "a7"}} {
		b.Run(way, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := 0
					if r.Find(term, func(*object.Object) { n++ }); n != 1 {
						b.Errorf("found %d", n)
					}
				}
			})
		})
	}
}
