package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

// rolled returns a child template with rolling updates and this maxUnavailable.
func rolled(strategy v1.UpdateStrategyType, most string) v1.Child {
	limit := intstr.Parse(most)
	return v1.Child{Name: "g", UpdateStrategy: v1.UpdateStrategy{Type: strategy, RollingUpdate: &v1.RollingUpdate{MaxUnavailable: &limit}}}
}

// sides returns children of the child template g: "a1" is the object a with hash 1. A suffix describes its state: "-" unavailable, "x" being
// deleted, "~" drifted, "?" without its owner reference.
func sides(texts ...string) []side {
	var out []side
	for _, text := range texts {
		mark := text[2:]
		out = append(out, side{name: text[:1], group: "g", hash: text[1:2], deleting: mark == "x", drifted: mark == "~", stripped: mark == "?"})
	}
	return out
}

// among returns a function that reports whether an object is available, according to the texts of sides.
func among(texts []string) func(*child.Live) bool {
	down := map[string]bool{}
	for _, text := range texts {
		down[text[:1]] = text[2:] == "-"
	}
	return func(l *child.Live) bool { return !down[l.Object.Name()] }
}

func TestRollout(t *testing.T) {
	const (
		apply    = v1.UpdateApply
		recreate = v1.UpdateRecreate
	)
	type list = []string
	for why, row := range map[string]struct {
		strategy   v1.UpdateStrategyType
		most       string
		wanted     list
		live       list
		incomplete bool
		want       list
	}{
		"the first is changed, the others wait": {
			apply, "1", list{"a2", "b2", "c2"}, list{"a1", "b1", "c1"}, false, list{"update a", "2 pending"},
		},
		"an unavailable object blocks the others": {
			apply, "1", list{"a2", "b2", "c2"}, list{"a2-", "b1", "c1"}, false, list{"2 pending"},
		},
		"the next object is updated once the first is available": {
			apply, "1", list{"a2", "b2", "c2"}, list{"a2", "b1", "c1"}, false, list{"update b", "1 pending"},
		},
		"maxUnavailable 2": {
			apply, "2", list{"a2", "b2", "c2"}, list{"a1", "b1", "c1"}, false, list{"update a", "update b", "1 pending"},
		},
		"unavailable objects count against maxUnavailable": {
			apply, "2", list{"a2", "b2", "c2"}, list{"a2-", "b1", "c1"}, false, list{"update b", "1 pending"},
		},
		"objects are updated in the order of the template": {
			apply, "1", list{"c2", "b2", "a2"}, list{"a1", "b1", "c1"}, false, list{"update c", "2 pending"},
		},
		"percentage": {
			apply, "50%", list{"a2", "b2", "c2", "d2"}, list{"a1", "b1", "c1", "d1"}, false, list{"update a", "update b", "2 pending"},
		},
		"percentages are rounded down": {
			apply, "74%", list{"a2", "b2", "c2", "d2"}, list{"a1", "b1", "c1", "d1"}, false, list{"update a", "update b", "2 pending"},
		},
		"percentages are at least one object": {
			apply, "1%", list{"a2", "b2"}, list{"a1", "b1"}, false, list{"update a", "1 pending"},
		},
		"100%": {
			apply, "100%", list{"a2", "b2"}, list{"a1", "b1"}, false, list{"update a", "update b"},
		},
		"unavailable outdated objects are updated first and do not count": {
			apply, "1", list{"a2", "b2", "c2"}, list{"a1", "b1-", "c1-"}, false, list{"update b", "update c", "1 pending"},
		},
		"a fixed template repairs objects that the previous one broke": {
			apply, "1", list{"a3", "b3", "c3"}, list{"a2-", "b1", "c1"}, false, list{"update a", "2 pending"},
		},
		"missing objects are created and count": {
			apply, "1", list{"a2", "b2", "c2"}, list{"b1", "c1"}, false, list{"create a", "2 pending"},
		},
		"objects being deleted count": {
			apply, "1", list{"a2", "b2"}, list{"a1x", "b1"}, false, list{"2 pending"},
		},
		"drift is corrected during a rollout": {
			apply, "1", list{"a2", "b2", "c2"}, list{"a2-", "b2~", "c1"}, false, list{"update b because of .data.a", "1 pending"},
		},
		"marks are written during a rollout": {
			apply, "1", list{"a2", "b2", "c2"}, list{"a2-", "b2?", "c1?"}, false, list{"update b", "mark c", "1 pending"},
		},
		"nothing to do if all are up to date": {
			apply, "1", list{"a2", "b2"}, list{"a2-", "b2-"}, false, list{},
		},
		"objects that are no longer rendered are deleted and do not count": {
			apply, "1", list{"a2", "b2"}, list{"a1", "b1", "c1"}, false, list{"update a", "delete c", "1 pending"},
		},
		"an incomplete observation allows updates": {
			apply, "1", list{"a2", "b2"}, list{"a1", "b1"}, true, list{"update a", "1 pending"},
		},
		"Recreate deletes the first": {
			recreate, "1", list{"a2", "b2", "c2"}, list{"a1", "b1", "c1"}, false, list{"delete a in the foreground", "3 pending"},
		},
		"Recreate waits for the deletion": {
			recreate, "1", list{"a2", "b2", "c2"}, list{"a1x", "b1", "c1"}, false, list{"3 pending"},
		},
		"Recreate creates the replacement immediately": {
			recreate, "1", list{"a2", "b2", "c2"}, list{"b1", "c1"}, false, list{"create a", "2 pending"},
		},
		"Recreate waits until the replacement is available": {
			recreate, "1", list{"a2", "b2", "c2"}, list{"a2-", "b1", "c1"}, false, list{"2 pending"},
		},
		"Recreate deletes the next": {
			recreate, "1", list{"a2", "b2", "c2"}, list{"a2", "b1", "c1"}, false, list{"delete b in the foreground", "2 pending"},
		},
		"Recreate deletes unavailable outdated objects first": {
			recreate, "1", list{"a2", "b2", "c2"}, list{"a1", "b1-", "c1-"}, false, list{"delete b in the foreground", "delete c in the foreground", "3 pending"},
		},
		"Recreate deletes nothing with an incomplete observation": {
			recreate, "1", list{"a2", "b2"}, list{"a1?", "b1-"}, true, list{"mark a", "2 pending"},
		},
		"Recreate marks only objects that stay": {
			recreate, "1", list{"a2", "b2"}, list{"a1?", "b1?"}, false, list{"mark b", "delete a in the foreground", "2 pending"},
		},
		"objects that are no longer rendered block nothing": {
			recreate, "1", list{"a2"}, list{"c1"}, false, list{"create a", "delete c in the foreground"},
		},
	} {
		t.Run(why, func(t *testing.T) {
			in := inputFor(t, rolled(row.strategy, row.most), sides(row.wanted...), sides(row.live...))
			in.Complete, in.Available = !row.incomplete, among(row.live)
			if diff := cmp.Diff(row.want, planText(Make(in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRolloutsAreIndependent has two child templates with a rollout each, and one without.
func TestRolloutsAreIndependent(t *testing.T) {
	live := sides("a1", "b1", "c1", "d1", "e1", "f1")
	for i := range live {
		live[i].group = []string{"g", "h", "i"}[i/2]
	}
	in := inputFor(t, rolled(v1.UpdateApply, "1"), sides("a2", "b2", "c2", "d2", "e2", "f2"), live)
	other := rolled(v1.UpdateApply, "1")
	other.Name = "h"
	in.Entries = append(in.Entries, other, v1.Child{Name: "i"})
	for i, w := range in.Wanted {
		w.Entry = &in.Entries[i/2]
		w.Marks = in.Maker.Marks(w.Entry, configMaps.GroupKind(), w.Name.Namespace, false)
	}
	in.Available = func(*child.Live) bool { return true }
	all := Rollouts(in.Wanted, in.Available)
	if len(all) != 2 || all[0].Entry != &in.Entries[0] || all[1].Entry != &in.Entries[1] || all[0].Objects != 2 || all[1].Objects != 2 {
		t.Errorf("rollouts %+v: want one of two objects for each of the first two entries", all)
	}
	if diff := cmp.Diff([]string{"update a", "update c", "update e", "update f", "2 pending"}, planText(Make(in))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func TestRolloutContinuesWithinReconciliation(t *testing.T) {
	live := []string{"a1", "b2~", "c1", "d1", "e1"}
	in := inputFor(t, rolled(v1.UpdateApply, "1"), sides("x2", "b2", "a2", "c2", "d2", "e2"), sides(live...))
	in.Available = among(live)
	p := Make(in)
	for i, want := range [][]string{
		{"create x", "update b because of .data.a", "4 pending"},
		{"create x", "update b because of .data.a", "update a", "3 pending"}, // x now exists: one may be changed
		{"create x", "update b because of .data.a", "update a", "3 pending"}, // b was available before
		{"create x", "update b because of .data.a", "update a", "update c", "2 pending"},
		{"create x", "update b because of .data.a", "update a", "update c", "update d", "1 pending"},
		{"create x", "update b because of .data.a", "update a", "update c", "update d", "update e"},
		{"create x", "update b because of .data.a", "update a", "update c", "update d", "update e"},
	} {
		if i > 0 {
			p.ContinueRollout(p.Apply[i-1])
		}
		if diff := cmp.Diff(want, planText(p)); diff != "" {
			t.Errorf("plan after %d (-want +got):\n%s", i, diff)
		}
		if p.Deferred != p.Pending {
			t.Errorf("%d are deferred after %d, and %d pending", p.Deferred, i, p.Pending)
		}
	}
	in.Entries[0].UpdateStrategy.RollingUpdate = nil
	p = Make(in)
	p.ContinueRollout(p.Apply[0])
	if len(p.Apply) != 6 {
		t.Errorf("without a rollout: %v", planText(p))
	}
}

// TestAvailabilityIsNotEvaluatedWithoutRollout expects no evaluation for objects that are up to date, because it may need an expression for
// each.
func TestAvailabilityIsNotEvaluatedWithoutRollout(t *testing.T) {
	in := inputFor(t, rolled(v1.UpdateApply, "1"), sides("a2", "b2", "c2"), sides("a2", "b1x"))
	in.Available = func(*child.Live) bool { t.Error("somebody is asked"); return true }
	Make(in)
}

func TestRolloutProgress(t *testing.T) {
	live := []string{"a2", "b1", "c2-", "d1x", "f2x"}
	in := inputFor(t, rolled(v1.UpdateApply, "50%"), sides("a2", "b2", "c2", "d2", "e2", "f2"), sides(live...))
	all := Rollouts(in.Wanted, among(live))
	if len(all) != 1 {
		t.Fatalf("%d rollouts, want 1", len(all))
	}
	r := all[0]
	got := []int{r.Objects, r.Current, r.Most, r.free}
	if diff := cmp.Diff([]int{6, 2, 3, -1}, got); diff != "" || r.Entry != &in.Entries[0] {
		t.Errorf("objects, current ones, most and free (-want +got):\n%s", diff)
	}
	var names string
	for _, w := range r.Unavailable {
		names += w.Name.Name
	}
	if names != "cdef" {
		t.Errorf("unavailable are %s, want cdef", names)
	}
	if p := Make(Input{Entries: in.Entries, Wanted: in.Wanted, Live: in.Live, Maker: in.Maker, Available: among(live)}); p.Deferred != 1 {
		t.Errorf("%d changes are left for later, want 1", p.Deferred)
	}
}
