package model

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChildren(t *testing.T) {
	w := NewWorld("hush")
	w.Apply(Action{Verb: SetParent, ID: ParentID{"Many", "chaos-b", "p"}, Parent: Parent{Text: "t", Count: 2}})
	w.Apply(Action{Verb: SetParent, ID: ParentID{"One", "chaos-a", "p"}, Parent: Parent{Text: "t"}})
	names := func() (out []string) {
		for _, c := range w.Children() {
			out = append(out, c.ID.String())
		}
		return out
	}
	want := []string{
		"configmaps chaos-b/many-p-0", "configmaps chaos-b/many-p-1", "secrets chaos-b/many-p",
		"configmaps chaos-a/one-p", "configmaps chaos-a/scoped-p",
	}
	if diff := cmp.Diff(want, names()); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	data := map[string]string{"text": "t", "value": "first", "edition": "0", "index": "1"}
	if diff := cmp.Diff(data, w.Children()[1].Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	w.Apply(Action{Verb: CloseNamespace, Namespace: "chaos-a"})
	w.Apply(Action{Verb: SetController, Shape: Many, Controller: Controller{Selective: true, Entry: "config"}})
	if diff := cmp.Diff([]string{"configmaps chaos-a/one-p"}, names()); diff != "" {
		t.Errorf("children in a closed namespace, and of a parent without the label (-want +got):\n%s", diff)
	}
	w.Apply(Action{Verb: ReplaceKind, ID: ParentID{Kind: "One"}})
	if got := names(); got != nil {
		t.Errorf("children of a kind that was deleted: %v", got)
	}
}

// TestRoundsWithUnboundedFinalization checks that edits begin and end unbounded finalization.
func TestRoundsWithUnboundedFinalization(t *testing.T) {
	seen := map[bool]int{}
	r, w := rand.New(rand.NewPCG(1, 0)), NewWorld("hush")
	for range 100 {
		before := w.Controllers[Chain]
		round := Draw(r, w, Options{Actions: 6, Longest: time.Second})
		want := before.Blocks && !before.Hasty
		for _, a := range round.Users["Chain"] {
			want = want || a.Controller.Blocks && !a.Controller.Hasty
		}
		if round.Blocks != want {
			t.Fatalf("parents may wait without an end: %v, want %v, in\n%v", round.Blocks, want, round.Users["Chain"])
		}
		seen[want]++
		for shape, c := range w.Controllers {
			if c.Blocks && shape != Chain {
				t.Fatalf("nothing happens before parents of %s go", shape)
			}
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("rounds by whether they may: %v", seen)
	}
}

func TestBlockingControllerHasNoTimeout(t *testing.T) {
	for blocks, want := range map[bool]any{true: nil, false: "20s"} {
		spec, _ := Controller{Blocks: blocks}.Manifest(Chain)["spec"].(map[string]any)
		finalize, _ := spec["finalize"].(map[string]any)
		if got := finalize["timeout"]; got != want {
			t.Errorf("the timeout is %v, want %v", got, want)
		}
	}
}

func TestDrawIsReproducible(t *testing.T) {
	options := Options{Actions: 6, Faults: 2, Longest: time.Second, KindEvery: 3}
	play := func(seed uint64) (rounds []Round) {
		r, w := rand.New(rand.NewPCG(seed, 0)), NewWorld("hush")
		for range 20 {
			rounds = append(rounds, Draw(r, w, options))
		}
		return rounds
	}
	if diff := cmp.Diff(play(1), play(1)); diff != "" {
		t.Errorf("the same seed draws something else:\n%s", diff)
	}
	if cmp.Equal(play(1), play(2)) {
		t.Error("another seed draws the same")
	}
}

func TestDrawWithoutOptionalFeatures(t *testing.T) {
	r, w := rand.New(rand.NewPCG(1, 0)), NewWorld("hush")
	for range 20 {
		round := Draw(r, w, Options{Actions: 6, Faults: 3, Engines: 1, Longest: time.Second, Without: Features()})
		if len(round.Faults[0])+len(round.Faults[1]) > 0 || round.Slow != "" {
			t.Fatalf("faults that were left out: %v, %s", round.Faults, round.Slow)
		}
	}
	if diff := cmp.Diff(NewWorld("hush").Controllers, w.Controllers); diff != "" {
		t.Errorf("edits that were left out (-want +got):\n%s", diff)
	}
}

func TestDrawCoversAllFeatures(t *testing.T) {
	seen := map[Verb]int{}
	r, w := rand.New(rand.NewPCG(1, 0)), NewWorld("hush")
	options := Options{Actions: 8, Faults: 3, Longest: time.Second, Replicas: 2, Engines: 3, KindEvery: 5, Without: []string{string(StopOperator)}}
	replicas := map[bool]map[int]bool{true: {}, false: {}} // by whether the fault affects a process
	for range 150 {
		round := Draw(r, w, options)
		for kind, lane := range round.Users {
			for _, a := range lane {
				seen[a.Verb]++
				if a.ID.Kind != "" && a.ID.Kind != kind || a.Shape != "" && KindOf(a.Shape) != kind {
					t.Fatalf("%s is in the lane of %s", a, kind)
				}
			}
		}
		for _, lane := range round.Faults {
			for _, a := range lane {
				seen[a.Verb]++
				if a.Verb != KillAPIServer && a.Verb != KillEtcd && a.Verb != CompactEtcd && a.Verb != RevokePermission && a.Verb != FailLogs {
					replicas[a.Verb == KillOperator || a.Verb == FreezeOperator][a.Replica] = true
				}
			}
		}
	}
	for _, verb := range append([]Verb{
		SetSource, DeleteSource, SetPod, DeletePod, WipeController, UnserveKind, OrphanParent, SkipParent, SetParent, DeleteParent, ReplaceParent, SetController, ReplaceController, RemoveController, ReplaceKind, OpenNamespace, CloseNamespace,
		MoveEngines, RemoveParts, DefineParts, HoldChild, SpoilStatus, StripStatus, NoteStatus,
		EditChild, StripChild, StripMarks, ForgeMarks, UnsealChild, UnlabelChild, RelabelChild, DeleteChild, PutForeign, RemoveForeign, AddToChild,
	}, Faults...) {
		if want := verb != StopOperator; want != (seen[verb] > 0) {
			t.Errorf("%s was drawn %d times", verb, seen[verb])
		}
	}
	want := map[bool]map[int]bool{true: {1: true, 2: true}, false: {0: true, 1: true, 2: true}}
	if diff := cmp.Diff(want, replicas); diff != "" {
		t.Errorf("whom faults are for (-want +got):\n%s", diff)
	}
}

// A parent that a rejected spec no longer selects keeps its finalizer, so deleting it would block.
func TestMarksOfFarChildrenAreRepaired(t *testing.T) {
	changed := 0
	for seed := range uint64(4) {
		r, w := rand.New(rand.NewPCG(seed, 0)), NewWorld("hush")
		for range 25 {
			active, marked := !w.Controllers[Wide].Frozen(), false
			round := Draw(r, w, Options{Actions: 7, Longest: time.Second})
			for _, a := range round.Users["Wide"] {
				switch a.Verb {
				case SetController, RemoveController, ReplaceController:
					active = !a.Controller.Frozen()
				case StripMarks, ForgeMarks:
					marked = marked || a.Child.Namespace == Far
				default:
				}
				if marked && (!active || a.Verb == RemoveController || a.Verb == ReplaceController || a.Verb == SkipParent) {
					t.Errorf("seed %d: %s after a change of the annotations", seed, a)
				}
			}
			if marked {
				changed++
			}
		}
	}
	if changed < 5 {
		t.Errorf("the annotations change in %d rounds, want more", changed)
	}
}

func TestRejectedSpecKeepsSelector(t *testing.T) {
	rejected := 0
	for seed := range uint64(2000) {
		d := &drawer{Rand: rand.New(rand.NewPCG(seed, 0)), world: NewWorld("x"), kind: "Wide", traits: []Trait{Select, Break}, changed: map[string]bool{}}
		before := d.world.Controllers[Wide]
		after := d.ofController().Controller
		if !after.Broken {
			continue
		}
		rejected++
		if after.Selective != before.Selective {
			t.Fatalf("seed %d: the edit rejects the spec and changes what it selects", seed)
		}
	}
	if rejected == 0 {
		t.Fatal("no edit rejects the spec")
	}
}
