package model

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// TestScenes has each scene begin where what it judges can be told.
func TestScenes(t *testing.T) {
	r, w := rand.New(rand.NewPCG(1, 0)), NewWorld("hush")
	seen, stay := map[Verb]int{}, 0
	rights, held := map[Right]int{}, map[bool]int{}
	for range 100 {
		before := maps.Clone(w.Controllers)
		round := Draw(r, w, Options{Actions: 6, Longest: time.Second})
		for _, lane := range round.Users {
			for _, a := range lane {
				switch a.Verb {
				case SetController, ReplaceController, RemoveController:
					before[a.Shape] = a.Controller
				case OrphanEdited:
					stay += len(a.Stay)
					if c := before[a.Shape]; c.Frozen() || len(a.Parents) > 3 || len(a.Stay) == 0 {
						t.Errorf("%s, of %+v", a, c)
					}
				case BlockParent:
					held[a.Held]++
					if c := before[Chain]; !c.blocks(Chain) || c.Frozen() || a.Held != a.Parent.Labelled || a.Parent.Count != 4 {
						t.Errorf("%s, of %+v", a, c)
					}
				case Deprive:
					rights[a.Right]++
					if shape := map[string]string{"configmaps": Wide, "parts": Whole, "pods": Reader}[a.Right.Resource]; before[shape].Frozen() || a.Parent.Text == a.Edited.Text || a.Parent.Count == 0 {
						t.Errorf("%s, of %+v", a, before[shape])
					}
				default:
				}
				seen[a.Verb]++
			}
		}
	}
	for _, verb := range Scenes {
		if seen[verb] < 5 {
			t.Errorf("%s was drawn %d times", verb, seen[verb])
		}
	}
	if stay < 50 || len(rights) != 4 || len(held) != 2 {
		t.Errorf("%d children were to stay, rights withdrawn %v, children held %v", stay, rights, held)
	}
}

func TestParentsOfScenes(t *testing.T) {
	w := NewWorld("hush")
	whole, wide := ParentID{"Whole", "chaos-a", "p"}, ParentID{"Wide", "chaos-a", "p"}
	w.Apply(Action{Verb: Deprive, ID: whole, Right: Right{"parts", "patch"}, Parent: Parent{Text: "a"}, Edited: Parent{Text: "b"}})
	w.Apply(Action{Verb: Deprive, ID: wide, Right: Right{"configmaps", "delete"}})
	if w.Parents[whole].Text != "b" || len(w.Parents) != 1 {
		t.Errorf("parents after rights were withdrawn: %v", w.Parents)
	}
	w.Apply(Action{Verb: OrphanEdited, Parents: map[ParentID]Parent{whole: {}}})
	if len(w.Parents) != 0 {
		t.Errorf("parents that were orphaned: %v", w.Parents)
	}
}

func TestLogsThatParentsSee(t *testing.T) {
	w := NewWorld("hush")
	id := ParentID{"Reader", "chaos-a", "p"}
	w.Apply(Action{Verb: SetParent, ID: id, Parent: Parent{Count: 1}})
	w.Apply(Action{Verb: SetPod, Child: PodID("chaos-a", 1), Text: "own"})
	w.Apply(Action{Verb: SetPod, Child: PodID("chaos-b", 1), Text: "of another namespace"})
	if got := w.Told(id); got != "own" {
		t.Errorf("it sees %q", got)
	}
	w.Apply(Action{Verb: DeletePod, Child: PodID("chaos-a", 1)})
	if got := w.Told(id); got != "" {
		t.Errorf("it sees %q of a Pod that is gone", got)
	}
}
