package diff

import (
	"strings"
	"testing"
)

// TestLimitKeepsDeletions: what is deleted is never cut off in favour of what is created.
func TestLimitKeepsDeletions(t *testing.T) {
	parent := func(name string, faults []string, verbs ...Verb) *Parent {
		p := &Parent{Name: name, Errors: faults}
		for _, verb := range verbs {
			p.Changes = append(p.Changes, Change{Verb: verb})
		}
		return p
	}
	all := []*Parent{
		parent("a", nil, Create), parent("b", []string{"wrong"}), parent("c", nil, Update, Delete), parent("d", nil, Recreate), parent("e", nil, Orphan), parent("f", nil, Unknown),
	}
	for n, want := range map[int]string{1: "c", 2: "c d", 3: "c d f", 4: "c d f b", 9: "c d f b a e"} {
		t.Run(want, func(t *testing.T) {
			r := &Report{Parents: append([]*Parent(nil), all...)}
			r.Limit(n)
			var names []string
			for _, p := range r.Parents {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("%d of them are %q, want %q", n, got, want)
			}
		})
	}
}
