package related

import (
	"fmt"
	"slices"
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// TestSelectionsOfTenantShareMemoryLimit selects for the parents of two TemplateControllers of one tenant, and of
// another tenant.
func TestSelectionsOfTenantShareMemoryLimit(t *testing.T) {
	few := large(10, 60)
	size := entryOf(t, false).choose(t, in("ns", "one"), few...).Size()
	rooms := NewMemory(3 * size)
	entry := func(tenant string) *Entry {
		e := entryOf(t, false)
		e.Index = NewIndex(rooms, tenant)
		return e
	}
	one, two, other := entry("team"), entry("team"), entry("neighbors")
	expect := func(why string, e *Entry, parent string, yielded []map[string]any, room bool) {
		t.Helper()
		_, issue := e.Choose(in("ns", parent), yielded, 1<<20)
		if (issue == nil) != room || issue != nil && issue.Retry != problem.RetrySlower {
			t.Errorf("%s: got %+v, want room %v", why, issue, room)
		}
	}
	for i := range 3 {
		expect("there is room", []*Entry{one, two}[i%2], fmt.Sprint(i), few, true)
	}
	expect("the tenant has used all", one, "more", few, false)
	expect("the tenant has used all", two, "more", few, false)
	expect("another tenant has its own", other, "1", few, true)
	expect("a parent selects the same again", one, "0", few, true)
	expect("a parent selects more", one, "0", large(11, 60), false)
	expect("a parent selects less", one, "0", large(9, 60), true)
	expect("a parent selects as before", one, "0", few, true)
	two.Index.Forget(in("ns", "1"))
	two.Index.Forget(in("ns", "1"))
	expect("a parent is gone", one, "more", few, true)
	expect("only one is", two, "more", few, false)
	one.Index.Close()
	expect("the TemplateController is deleted", two, "more", few, true)
	expect("a reconciliation goes on", one, "late", few, true)
	one.Index.Forget(in("ns", "0"))
	two.Index.Close()
	other.Index.Close()
	if len(rooms.taken) > 0 {
		t.Errorf("%v are taken at the end", rooms.taken)
	}
}

// TestRecreatedParentIsNotifiedOfChanges: a deleted parent is recreated with the same selection.
func TestRecreatedParentIsNotifiedOfChanges(t *testing.T) {
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

// TestUnchangedSelectionIsReused: a parent selects the same objects twice.
func TestUnchangedSelectionIsReused(t *testing.T) {
	e, one := entryOf(t, false), in("ns", "one")
	first := e.choose(t, one, map[string]any{"name": "a"})
	if again := e.choose(t, one, map[string]any{"name": "a"}); &again[0] != &first[0] {
		t.Error("it is made twice")
	}
	if other := e.choose(t, one, map[string]any{"name": "b"}); &other[0] == &first[0] {
		t.Error("another one is the same")
	}
}

// TestSelectionFollowsScopeOfKind: the scope of the kind changes while the entry is unchanged.
func TestSelectionFollowsScopeOfKind(t *testing.T) {
	e, one := entryOf(t, true), in("ns", "one")
	elsewhere := pod(t, "other", "a", "x", "Running", 1)
	for _, namespaced := range []bool{false, true, false} {
		e.Kind.Namespaced = namespaced
		e.choose(t, one)
		if woken := len(e.woken(nil, elsewhere)) > 0; woken == namespaced {
			t.Errorf("it has namespaces: %v; a parent in another one is told: %v", namespaced, woken)
		}
	}
}

// TestWatchFieldsDoNotFilterDeletions creates and deletes an object with one watched field.
func TestWatchFieldsDoNotFilterDeletions(t *testing.T) {
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
