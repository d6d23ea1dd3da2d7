package diff

import (
	"cmp"
	"fmt"
	"slices"
)

// Verb is what would become of an object.
type Verb string

// The verbs, in the order in which they are told.
const (
	Create   Verb = "create"
	Update   Verb = "update"
	Recreate Verb = "recreate" // it is deleted, and made anew
	Delete   Verb = "delete"
	Unknown  Verb = "unknown"  // whether it is deleted depends on a readyWhen that is not true now
	Orphan   Verb = "orphan"   // it stays, and no template yields it any more
	Outdated Verb = "outdated" // it stays as it is, by its update strategy, though its template yields something else
)

var verbs = []Verb{Create, Update, Recreate, Delete, Unknown, Orphan, Outdated}

// Report is what a TemplateController would do. Its JSON form is stable.
type Report struct {
	Controller string  `json:"templateController"`
	New        bool    `json:"new"` // the cluster has none of that name
	Summary    Summary `json:"summary"`
	// Parents are those for which something changes, by namespace and name.
	Parents []*Parent `json:"parents"`
	// Notes say what else is to be known of the whole.
	Notes []string `json:"notes"`
}

// Summary counts.
type Summary struct {
	Parents  int     `json:"parents"`  // all
	Changed  int     `json:"changed"`  // those for which something changes
	Failing  int     `json:"failing"`  // those that have faults which they do not have without the edit
	Statuses int     `json:"statuses"` // those whose status changes
	Refused  int     `json:"refused"`  // changes that the server refuses
	Changes  []Count `json:"changes"`  // by verb and kind
}

// Count is how many objects of a kind have the same fate.
type Count struct {
	Verb  Verb   `json:"verb"`
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Parent is what would become of a parent and its children.
type Parent struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Watched is "begins" where the object becomes a parent, and "ends" where it is none any more; else "".
	Watched string   `json:"watched,omitempty"`
	Changes []Change `json:"changes"`
	// Status is the difference of the status as a unified diff.
	Status string `json:"status,omitempty"`
	// Faults are what is wrong, in the words of the ready condition.
	Faults []string `json:"faults"`
}

// Change is what would become of a child.
type Change struct {
	Verb       Verb   `json:"verb"`
	Entry      string `json:"entry"` // of spec.children; "" where it is gone
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Refused says why the server refuses the write; "" if it does not, or was not asked.
	Refused string `json:"refused,omitempty"`
	// Tried is whether the server has tried the write.
	Tried bool `json:"tried"`
	// Diff is a unified diff of the object as YAML; "" for a verb under which it does not change.
	Diff string `json:"diff,omitempty"`
}

// Differs reports whether there is anything to tell.
func (r *Report) Differs() bool { return len(r.Parents) > 0 }

// Limit keeps that many parents: those first that lose an object, or may, then those with faults, then the others, each by namespace and name.
func (r *Report) Limit(n int) {
	rank := func(p *Parent) int {
		switch {
		case slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Verb == Delete || c.Verb == Recreate || c.Verb == Unknown }):
			return 0
		case len(p.Faults) > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(r.Parents, func(a, b *Parent) int { return cmp.Compare(rank(a), rank(b)) })
	r.Parents = r.Parents[:min(n, len(r.Parents))]
}

func (r *Report) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		r.Notes = append(r.Notes, text)
	}
}

// finish counts.
func (r *Report) finish() {
	s := &r.Summary
	counts := map[Count]int{}
	for _, p := range r.Parents {
		s.Changed++
		if len(p.Faults) > 0 {
			s.Failing++
		}
		if p.Status != "" {
			s.Statuses++
		}
		for _, c := range p.Changes {
			counts[Count{Verb: c.Verb, Group: groupOf(c.APIVersion), Kind: c.Kind}]++
			if c.Refused != "" {
				s.Refused++
			}
		}
	}
	for of, n := range counts {
		of.Count = n
		s.Changes = append(s.Changes, of)
	}
	slices.SortFunc(s.Changes, func(a, b Count) int {
		return cmp.Or(cmp.Compare(slices.Index(verbs, a.Verb), slices.Index(verbs, b.Verb)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group))
	})
}
