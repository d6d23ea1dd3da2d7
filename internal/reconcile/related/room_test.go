package related

import (
	"fmt"
	"testing"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// TestSelectionsOfOneTenantShareARoom has the parents of two TemplateControllers of one tenant select, and those of another tenant.
func TestSelectionsOfOneTenantShareARoom(t *testing.T) {
	few := large(10, 60)
	size := entryOf(t, false).choose(t, in("ns", "one"), few...).Size()
	rooms := NewRooms(3 * size)
	entry := func(tenant string) *Entry {
		e := entryOf(t, false)
		e.Index = NewIndex(rooms, tenant)
		return e
	}
	one, two, other := entry("team"), entry("team"), entry("neighbours")
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
	expect("the TemplateController is gone", two, "more", few, true)
	expect("a reconciliation goes on", one, "late", few, true)
	one.Index.Forget(in("ns", "0"))
	two.Index.Close()
	other.Index.Close()
	if len(rooms.taken) > 0 {
		t.Errorf("%v are taken at the end", rooms.taken)
	}
}
