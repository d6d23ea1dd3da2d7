package related

import (
	"slices"
	"testing"
)

// TestAParentThatComesAgainIsTold has a parent go and come again that selects what it has selected before.
func TestAParentThatComesAgainIsTold(t *testing.T) {
	e, one := entryOf(t, false), in("ns", "one")
	e.choose(t, one, map[string]any{"name": "a"})
	a := pod(t, "ns", "a", "x", "Running", 1)
	e.Index.Forget(one)
	if got := e.woken(nil, a); len(got) > 0 {
		t.Errorf("while it is gone, %q are told", got)
	}
	e.choose(t, one, map[string]any{"name": "a"})
	if got := e.woken(nil, a); !slices.Equal(got, []string{"one"}) {
		t.Errorf("when it is there again, %q are told", got)
	}
}

// TestASelectionIsMadeOnce has a parent select the same twice.
func TestASelectionIsMadeOnce(t *testing.T) {
	e, one := entryOf(t, false), in("ns", "one")
	first := e.choose(t, one, map[string]any{"name": "a"})
	if again := e.choose(t, one, map[string]any{"name": "a"}); &again[0] != &first[0] {
		t.Error("it is made twice")
	}
	if other := e.choose(t, one, map[string]any{"name": "b"}); &other[0] == &first[0] {
		t.Error("another one is the same")
	}
}

// TestASelectionDependsOnWhetherTheKindHasNamespaces has the kind be another one while its entry stays.
func TestASelectionDependsOnWhetherTheKindHasNamespaces(t *testing.T) {
	e, one := entryOf(t, true), in("ns", "one")
	elsewhere := pod(t, "other", "a", "x", "Running", 1)
	for _, namespaced := range []bool{false, true, false} {
		e.Kind.Namespaced = namespaced
		e.choose(t, one)
		if told := len(e.woken(nil, elsewhere)) > 0; told == namespaced {
			t.Errorf("it has namespaces: %v; a parent in another one is told: %v", namespaced, told)
		}
	}
}

// TestWhatGoesIsToldWhateverFieldsAreWatched has an object come and go of which one field counts.
func TestWhatGoesIsToldWhateverFieldsAreWatched(t *testing.T) {
	e := entryOf(t, true)
	e.Watched = [][]string{{"status", "phase"}}
	e.choose(t, in("ns", "one"))
	before, same, other := pod(t, "ns", "a", "x", "Running", 1), pod(t, "ns", "a", "x", "Running", 2), pod(t, "ns", "a", "x", "Failed", 3)
	if len(e.woken(nil, before)) == 0 || len(e.woken(before, nil)) == 0 || len(e.woken(before, other)) == 0 {
		t.Error("nobody is told")
	}
	if got := e.woken(before, same); len(got) > 0 {
		t.Errorf("%q are told of what does not count", got)
	}
}
