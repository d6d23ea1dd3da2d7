package diff

import (
	"cmp"
	"fmt"
	"slices"
)

// Verb is a change of an object.
type Verb string

// The verbs in the order of the output.
const (
	Create   Verb = "create"
	Update   Verb = "update"
	Recreate Verb = "recreate" // deleted and created again
	Delete   Verb = "delete"
	Unknown  Verb = "unknown"  // deleted or not, depending on a readyWhen that is not true now
	Orphan   Verb = "orphan"   // kept, although no template renders it any more
	Outdated Verb = "outdated" // kept as it is by its update strategy, although its template renders something else
)

var verbs = []Verb{Create, Update, Recreate, Delete, Unknown, Orphan, Outdated}

// Report is what a TemplateController would do. Its JSON form is stable.
type Report struct {
	Controller string `json:"templateController"`
	New        bool   `json:"new"` // the cluster has none with that name
	// Revision is the ID of the revision, as in spec.rollout.approvedRevision.
	Revision string  `json:"revision"`
	Summary  Summary `json:"summary"`
	// Parents are the parents with changes, by namespace and name.
	Parents []*Parent `json:"parents"`
	// Notes are remarks about the whole report.
	Notes []string `json:"notes"`

	// unapproved is true if the revision needs approval.
	unapproved bool
}

// Summary counts.
type Summary struct {
	Parents  int     `json:"parents"`  // total
	Changed  int     `json:"changed"`  // parents with changes
	Failing  int     `json:"failing"`  // parents with errors that they do not have without the edit
	Statuses int     `json:"statuses"` // parents whose status changes
	Refused  int     `json:"rejected"` // changes that the server rejects
	Changes  []Count `json:"changes"`  // by verb and kind
}

// Count is the number of objects of a kind with the same change.
type Count struct {
	Verb  Verb   `json:"verb"`
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Parent has the changes of a parent and its children.
type Parent struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Watched is "added" if the object becomes a parent, "removed" if it stops being one, else "".
	Watched string   `json:"parent,omitempty"`
	Changes []Change `json:"changes"`
	// Status is the difference of the status as a unified diff.
	Status string `json:"status,omitempty"`
	// Errors are the errors in the message of the ready condition.
	Errors []string `json:"errors"`
}

// Change is the change of a child.
type Change struct {
	Verb       Verb   `json:"verb"`
	Entry      string `json:"entry"` // of spec.children; "" if it was removed
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Refused is the reason why the server rejects the write; "" if it does not, or without a dry run.
	Refused string `json:"rejected,omitempty"`
	// Tried is whether there was a dry run.
	Tried bool `json:"dryRun"`
	// Diff is a unified diff of the object as YAML; "" for verbs without a change of content.
	Diff string `json:"diff,omitempty"`
}

// Differs reports whether anything changes.
func (r *Report) Differs() bool { return len(r.Parents) > 0 }

// Limit keeps at most n parents: first those that lose (or may lose) an object, then those with errors, then the others, by namespace and name.
func (r *Report) Limit(n int) {
	rank := func(p *Parent) int {
		switch {
		case slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Verb == Delete || c.Verb == Recreate || c.Verb == Unknown }):
			return 0
		case len(p.Errors) > 0:
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

// finish computes the summary.
func (r *Report) finish() {
	s := &r.Summary
	counts := map[Count]int{}
	for _, p := range r.Parents {
		s.Changed++
		if len(p.Errors) > 0 {
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
