package controllers

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/reconcile/status"
)

// TestRivalsAreThoseOfAllCounts compares the rivals after random changes with those that a look at all counts finds.
func TestRivalsAreThoseOfAllCounts(t *testing.T) {
	names := []string{"a", "b", "ns/c", "ns/d"} // "z" is served by another installation
	random := rand.New(rand.NewPCG(1, 2))       //nolint:gosec // for the same test each time
	r := &registry{tracked: map[string]*tracked{}, rivals: map[string]map[string]struct{}{}}
	for step := range 2_000 {
		name := names[random.IntN(len(names))]
		switch e := r.tracked[name]; {
		case e == nil:
			r.tracked[name] = newTracked("")
		case random.IntN(20) == 0:
			r.dropRivals(name, e)
			delete(r.tracked, name)
		default:
			parent := types.NamespacedName{Name: fmt.Sprint(random.IntN(3))}
			before := e.counts.RivalOf(parent)
			rival := append(names, "", "z")[random.IntN(len(names)+2)]
			if rival == name {
				rival = ""
			}
			e.counts.Set(parent, &status.ParentSummary{Rival: rival})
			r.noteRival(name, e, before)
			r.noteRival(name, e, rival)
		}
		for name, e := range r.tracked {
			if got, want := fmt.Sprint(r.rival(name, e)), fmt.Sprint(firstRival(r, name, e)); got != want {
				t.Fatalf("step %d: the rival of %s is %s, want %s", step, name, got, want)
			}
		}
	}
	for name, e := range r.tracked {
		r.dropRivals(name, e)
	}
	if len(r.rivals) > 0 {
		t.Errorf("kept are %v", r.rivals)
	}
}

// firstRival returns what rival returns, from all counts.
func firstRival(r *registry, name string, e *tracked) (rival string, parents int64) {
	all := map[string]int64{}
	for other, n := range e.counts.Rivals {
		all[other] += n
	}
	for other, o := range r.tracked {
		if n := o.counts.Rivals[name]; n > 0 {
			all[other] += n
		}
	}
	for other, n := range all {
		if rival == "" || other < rival {
			rival, parents = other, n
		}
	}
	return rival, parents
}
