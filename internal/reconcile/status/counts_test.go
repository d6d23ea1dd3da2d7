package status

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

func named(all []v1.FailingParent) []string {
	var out []string
	for _, p := range all {
		out = append(out, p.Namespace+"/"+p.Name+" "+p.Reason)
	}
	return out
}

func TestFailingParentsAreListedStably(t *testing.T) {
	c := NewCounts()
	set := func(failed bool, names ...string) {
		for _, name := range names {
			reason := ""
			if failed {
				reason = v1.ReasonTemplateError
			}
			c.Set(types.NamespacedName{Namespace: "ns", Name: name}, &ParentSummary{Failed: failed, Reason: reason})
		}
	}
	expect := func(why string, before []v1.FailingParent, want ...string) []v1.FailingParent {
		t.Helper()
		got := c.Failing(before)
		if diff := cmp.Diff(want, named(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
		return got
	}
	set(false, "a", "b")
	before := expect("none", nil)
	set(true, "m", "l")
	before = expect("all of few, sorted", before, "ns/l TemplateError", "ns/m TemplateError")
	set(true, "g", "h", "i", "j", "k", "n")
	before = expect("those named before, and the first", before, "ns/g TemplateError", "ns/h TemplateError", "ns/i TemplateError", "ns/l TemplateError", "ns/m TemplateError")
	set(true, "a", "b")
	before = expect("others that fail change nothing", before, "ns/g TemplateError", "ns/h TemplateError", "ns/i TemplateError", "ns/l TemplateError", "ns/m TemplateError")
	set(false, "h")
	c.Set(types.NamespacedName{Namespace: "ns", Name: "m"}, nil)
	before = expect("what has recovered or gone makes room", before, "ns/a TemplateError", "ns/b TemplateError", "ns/g TemplateError", "ns/i TemplateError", "ns/l TemplateError")
	c.Set(types.NamespacedName{Namespace: "ns", Name: "g"}, &ParentSummary{Failed: true, Reason: v1.ReasonChildRejected})
	expect("a new reason is told", before, "ns/a TemplateError", "ns/b TemplateError", "ns/g ChildRejected", "ns/i TemplateError", "ns/l TemplateError")
}

func TestDeniedAndContestedNameExistingParent(t *testing.T) {
	c := NewCounts()
	say := func(parent, denied, contested string) {
		c.Set(types.NamespacedName{Name: parent}, &ParentSummary{Denied: denied, Contested: contested})
	}
	wantTold := func(why, denied, contested string, parents int64) {
		t.Helper()
		if c.Denied.First() != denied || c.Contested.First() != contested || c.Contested.Parents() != parents {
			t.Errorf("%s: %q, %q of %d parents, want %q, %q of %d", why, c.Denied.First(), c.Contested.First(), c.Contested.Parents(), denied, contested, parents)
		}
	}
	say("one", "right b", "field b")
	say("two", "right a", "field a")
	say("three", "right b", "field b")
	wantTold("three parents", "right a", "field a", 3)
	say("two", "", "")
	wantTold("one is right again", "right b", "field b", 2)
	c.Set(types.NamespacedName{Name: "one"}, nil)
	wantTold("another is gone", "right b", "field b", 1)
	say("three", "", "")
	wantTold("all are right", "", "", 0)
}

func TestCountsAreUpdatedIncrementally(t *testing.T) {
	c := NewCounts()
	c.Begin(7)
	one, two := types.NamespacedName{Namespace: "ns", Name: "one"}, types.NamespacedName{Namespace: "ns", Name: "two"}
	fine := ParentSummary{Generation: 7, Ready: true, Children: 3, ChildrenReady: 2}
	bad := ParentSummary{Generation: 6, Failed: true, Foreign: true, Children: 5, ChildrenReady: 1}
	for i, step := range []struct {
		why      string
		parent   types.NamespacedName
		now      *ParentSummary
		changes  bool
		parents  v1.ParentCounts
		children v1.ChildCounts
		foreign  int64
	}{
		{"what is gone already", one, nil, false, v1.ParentCounts{}, v1.ChildCounts{}, 0},
		{"the first, with nothing to say of it", one, &ParentSummary{}, true, v1.ParentCounts{Total: 1, Waiting: 1}, v1.ChildCounts{}, 0},
		{"it is ready", one, &fine, true, v1.ParentCounts{Total: 1, Ready: 1, Updated: 1}, v1.ChildCounts{Total: 3, Ready: 2}, 0},
		{"it stays so", one, &fine, false, v1.ParentCounts{Total: 1, Ready: 1, Updated: 1}, v1.ChildCounts{Total: 3, Ready: 2}, 0},
		{"another one fails", two, &bad, true, v1.ParentCounts{Total: 2, Ready: 1, Failed: 1, Updated: 1}, v1.ChildCounts{Total: 8, Ready: 3}, 1},
		{"the first one fails, too", one, &bad, true, v1.ParentCounts{Total: 2, Failed: 2}, v1.ChildCounts{Total: 10, Ready: 2}, 2},
		{"it is gone", one, nil, true, v1.ParentCounts{Total: 1, Failed: 1}, v1.ChildCounts{Total: 5, Ready: 1}, 1},
		{"one that is suspended keeps its children, and counts as nothing else", two, &ParentSummary{Generation: 7, Suspended: true, Unobserved: true, Ready: true}, true, v1.ParentCounts{Total: 1, Suspended: 1}, v1.ChildCounts{Total: 5, Ready: 1}, 0},
		{"all are", two, nil, true, v1.ParentCounts{}, v1.ChildCounts{}, 0},
	} {
		if got := c.Set(step.parent, step.now); got != step.changes {
			t.Errorf("step %d, %s: changes a sum: %v, want %v", i, step.why, got, step.changes)
		}
		if diff := cmp.Diff(step.parents, c.Parents) + cmp.Diff(step.children, c.Children) + cmp.Diff(step.foreign, c.Foreign); diff != "" {
			t.Errorf("step %d, %s: sums (-want +got):\n%s", i, step.why, diff)
		}
	}
}

func TestUpdatedParentsFollowGeneration(t *testing.T) {
	c := NewCounts()
	for generation, name := range []string{"old", "new", "newest"} {
		c.Set(types.NamespacedName{Name: name}, &ParentSummary{Generation: int64(generation + 1)})
	}
	c.Set(types.NamespacedName{Name: "suspended"}, &ParentSummary{Generation: 2, Suspended: true})
	for generation, want := range map[int64]int64{1: 1, 2: 1, 3: 1, 4: 0} {
		t.Run(fmt.Sprint("generation ", generation), func(t *testing.T) {
			c.Begin(generation)
			if got := c.Parents.Updated; got != want {
				t.Errorf("%d parents are updated, want %d", got, want)
			}
		})
	}
}

// TestContestedParentsAreIndexed ensures that deleting one of many parents does not visit the others.
func TestContestedParentsAreIndexed(t *testing.T) {
	c := NewCounts()
	at := func(i int) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: fmt.Sprint(i)} }
	for i := range 1000 {
		c.Set(at(i), &ParentSummary{})
	}
	for _, i := range []int{1, 2, 3, 4} {
		c.Set(at(i), &ParentSummary{Contested: "field"})
	}
	c.Set(at(2), nil)
	c.Set(at(3), &ParentSummary{Ready: true})
	for _, row := range []struct {
		why    string
		parent types.NamespacedName
		want   []string
	}{
		{"one that is contested", at(1), []string{"ns/1"}},
		{"one that is gone", at(2), nil},
		{"one that is contested no more", at(3), nil},
		{"one that never was", at(500), nil},
		{"all", types.NamespacedName{}, []string{"ns/1", "ns/4"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			var got []string
			c.EachContested(row.parent, func(at types.NamespacedName) { got = append(got, at.String()) })
			slices.Sort(got)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("contested (-want +got):\n%s", diff)
			}
		})
	}
	if n := len(c.contested); n != 2 {
		t.Errorf("%d parents are filed as contested, want 2 of %d", n, len(c.ByParent))
	}
}
