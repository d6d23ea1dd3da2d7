package watch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/object"
)

// thing is an object in a namespace with these labels.
func thing(t testing.TB, namespace, name string, labels map[string]any) *object.Object {
	t.Helper()
	o, err := object.From(map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name, "labels": labels}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// random returns an object and a term with few different names, namespaces and labels.
func random(t testing.TB, r *rand.Rand) (*object.Object, Term) {
	labels := map[string]any{}
	for range r.IntN(3) {
		labels[fmt.Sprint("l", r.IntN(maxLabels+4))] = fmt.Sprint("v", r.IntN(2))
	}
	pick := func(text string) string {
		if r.IntN(2) == 0 {
			return ""
		}
		return fmt.Sprint(text, r.IntN(3))
	}
	term := Term{Namespace: pick("ns"), Name: pick("n")}
	if r.IntN(2) == 0 {
		term.Label, term.Value = fmt.Sprint("l", r.IntN(maxLabels+4)), fmt.Sprint("v", r.IntN(2))
	}
	return thing(t, fmt.Sprint("ns", r.IntN(3)), fmt.Sprint("n", r.IntN(3)), labels), term
}

// TestTermIndexMatchesScan compares the index with a scan, while values are added and removed.
func TestTermIndexMatchesScan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for secrets
	var x TermIndex[int]
	asked, filed := map[int]Term{}, map[int]Term{}
	for i := range 4000 {
		o, term := random(t, r)
		if len(asked) > 40 || i > 3000 {
			for id := range asked {
				x.Remove(filed[id], id)
				delete(asked, id)
				break
			}
		} else {
			asked[i], filed[i] = term, x.Add(term, i)
		}
		found := map[int]bool{}
		x.Each(o, func(id int) { found[id] = true })
		for id, term := range asked {
			if term.Matches(o) && !found[id] {
				t.Fatalf("%+v names %s, and is not found", term, o)
			}
			if !filed[id].Matches(o) && found[id] {
				t.Fatalf("%+v does not name %s, and is found", filed[id], o)
			}
		}
		if x.labels > maxLabels {
			t.Fatalf("things are found by %d labels", x.labels)
		}
	}
	if len(x.facets) > 0 || x.labels != 0 {
		t.Errorf("left are %v, %d labels", x.facets, x.labels)
	}
	x.Remove(Term{Name: "x"}, 1) // not indexed
}

// TestObjectIndexMatchesScan compares the index with a scan, while objects are added, changed and removed.
func TestObjectIndexMatchesScan(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // not for secrets
	var x ObjectIndex[int]
	there := map[int]*object.Object{}
	rejected := 0
	for i := range 4000 {
		o, term := random(t, r)
		id := r.IntN(40)
		switch before := there[id]; {
		case before == nil:
			x.Add(o, id)
			there[id] = o
		case i%2 == 0:
			x.Replace(before, o, id)
			there[id] = o
		default:
			x.Remove(before, id)
			delete(there, id)
		}
		f := term.Facet()
		if i%200 == 0 {
			x.CloseIdle()
		}
		if !x.Has(f) {
			if !x.Open(f) {
				rejected++
				continue
			}
			for id, o := range there {
				x.File(f, o, id)
			}
		}
		found, want := map[int]bool{}, map[int]bool{}
		x.Each(term, func(id int) { found[id] = true })
		for id, o := range there {
			if term.Matches(o) {
				want[id] = true
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Fatalf("%+v (-want +found):\n%s", term, diff)
		}
	}
	if x.labels != maxLabels || rejected == 0 {
		t.Errorf("objects are filed by %d labels, %d were refused", x.labels, rejected)
	}
	for id, o := range there {
		x.Remove(o, id)
	}
	for f, s := range x.facets {
		if len(s.one)+len(s.more) > 0 {
			t.Errorf("%+v: left are %v and %v", f, s.one, s.more)
		}
	}
}

// TestMembersWithSameHashAreDistinguished adds values with the same hash.
func TestMembersWithSameHashAreDistinguished(t *testing.T) {
	s := newSets[string]()
	members := func() []string {
		all := map[string]bool{}
		s.each(1, func(m string) { all[m] = true })
		return slices.Sorted(maps.Keys(all))
	}
	for i, row := range []struct {
		do   func(uint64, string)
		what string
		want []string
	}{
		{s.remove, "a", nil},
		{s.add, "a", []string{"a"}},
		{s.add, "a", []string{"a"}},
		{s.add, "b", []string{"a", "b"}},
		{s.add, "c", []string{"a", "b", "c"}},
		{s.add, "c", []string{"a", "b", "c"}},
		{s.remove, "d", []string{"a", "b", "c"}},
		{s.remove, "a", []string{"b", "c"}},
		{s.remove, "b", []string{"c"}},
		{s.remove, "c", nil},
	} {
		row.do(1, row.what)
		if diff := cmp.Diff(row.want, members()); diff != "" {
			t.Errorf("step %d, %s (-want +got):\n%s", i, row.what, diff)
		}
	}
	if len(s.one)+len(s.more) > 0 {
		t.Errorf("left are %v and %v", s.one, s.more)
	}
}

func TestEmptyLabelDiffersFromMissingLabel(t *testing.T) {
	with, without := thing(t, "ns", "a", map[string]any{"l": ""}), thing(t, "ns", "a", nil)
	term := Term{Label: "l"}
	if !term.Matches(with) || term.Matches(without) {
		t.Errorf("matches: %v with the label, %v without", term.Matches(with), term.Matches(without))
	}
	if _, ok := term.Facet().Term(without); ok {
		t.Error("what has no such label is filed by it")
	}
}
