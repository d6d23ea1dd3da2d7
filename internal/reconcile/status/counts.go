package status

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/readiness"
)

// ParentSummary is the result of the last reconciliation of one parent. It has no pointers to other structs, because one is kept for each
// parent.
type ParentSummary struct {
	Generation              int64  // generation of the TemplateController for the reconciliation
	Ready, Failed           bool   // if neither is set, the parent is waiting
	Outdated                bool   // the parent has an earlier revision than that of the latest spec
	Suspended               bool   // the parent is not reconciled; all other fields except Generation are unknown
	Unobserved              bool   // the children were not read: use the previous counts
	Reason                  string // of the problem to show, if Failed
	Foreign                 bool   // another field manager owns the ready condition
	Rival                   string // the TemplateController that owns the ready condition
	Contested               string // part of the status that another TemplateController writes
	Denied                  string // missing permission to write the status
	Children, ChildrenReady int64
	Kinds                   uint64 // bits of the desired kinds: see controller.Source
	Round                   int64  // the round in which all desired children were known; 0 = they were not
}

// Counts aggregates the summaries of the parents of a TemplateController.
type Counts struct {
	generation int64 // current generation of the TemplateController
	ByParent   map[types.NamespacedName]ParentSummary
	Parents    v1.ParentCounts
	Children   v1.ChildCounts
	Foreign    int64

	Denied, Contested complaints
	Rivals            complaints                        // by name of the TemplateController
	contested         map[types.NamespacedName]struct{} // parents with Contested or Rival
}

// NewCounts returns empty Counts.
func NewCounts() *Counts {
	return &Counts{ByParent: map[types.NamespacedName]ParentSummary{}, Denied: complaints{}, Contested: complaints{}, Rivals: complaints{}, contested: map[types.NamespacedName]struct{}{}}
}

// complaints counts the parents by message. No count is 0.
type complaints map[string]int64

func (t complaints) add(text string, sign int64) {
	if text == "" {
		return
	}
	if t[text] += sign; t[text] == 0 {
		delete(t, text)
	}
}

// Parents returns the number of parents with a message.
func (t complaints) Parents() int64 {
	var n int64
	for _, parents := range t {
		n += parents
	}
	return n
}

// First returns the message to report. It stays the same as long as a parent has it and no message that sorts before it is added.
func (t complaints) First() string {
	for _, text := range slices.Sorted(maps.Keys(t)) {
		return text
	}
	return ""
}

// Set replaces the summary of a parent, or removes it if now is nil. It reports whether the summary has changed.
func (c *Counts) Set(parent types.NamespacedName, now *ParentSummary) bool {
	before, known := c.ByParent[parent]
	if known {
		c.add(before, -1)
	}
	if now != nil && now.Unobserved {
		kept := *now
		kept.Children, kept.ChildrenReady = before.Children, before.ChildrenReady
		if now.Outdated { // it is left as it is
			kept.Ready, kept.Failed, kept.Reason = before.Ready, before.Failed, before.Reason
		}
		now = &kept
	}
	if now == nil || now.Contested == "" && now.Rival == "" {
		delete(c.contested, parent)
	} else {
		c.contested[parent] = struct{}{}
	}
	if now == nil {
		delete(c.ByParent, parent)
		return known
	}
	c.ByParent[parent] = *now
	c.add(*now, 1)
	return !known || before != *now
}

// Begin sets the generation of the TemplateController. A parent counts as updated once it is reconciled with this generation.
func (c *Counts) Begin(generation int64) {
	c.generation, c.Parents.Updated = generation, 0
	for _, t := range c.ByParent {
		if c.updated(t) {
			c.Parents.Updated++
		}
	}
}

// updated reports whether a parent was reconciled with the current spec.
func (c *Counts) updated(t ParentSummary) bool {
	return t.Generation == c.generation && !t.Suspended && !t.Outdated
}

// RivalOf returns the TemplateController that owned the ready condition of a parent at its last reconciliation, or "".
func (c *Counts) RivalOf(parent types.NamespacedName) string { return c.ByParent[parent].Rival }

// EachContested calls f for each parent whose status is partly owned by another TemplateController: only for the given parent or, if its name is
// empty, for all. It visits no other parents.
func (c *Counts) EachContested(parent types.NamespacedName, f func(types.NamespacedName)) {
	if parent.Name != "" {
		if _, contested := c.contested[parent]; contested {
			f(parent)
		}
		return
	}
	for at := range c.contested {
		f(at)
	}
}

func (c *Counts) add(t ParentSummary, sign int64) {
	c.Parents.Total += sign
	switch {
	case t.Suspended:
		c.Parents.Suspended += sign
	case t.Failed:
		c.Parents.Failed += sign
	case t.Ready:
		c.Parents.Ready += sign
	default:
		c.Parents.Waiting += sign
	}
	if c.updated(t) {
		c.Parents.Updated += sign
	}
	if t.Foreign {
		c.Foreign += sign
	}
	c.Contested.add(t.Contested, sign)
	c.Rivals.add(t.Rival, sign)
	c.Denied.add(t.Denied, sign)
	c.Children.Total += sign * t.Children
	c.Children.Ready += sign * t.ChildrenReady
}

// mostFailing is the maximum number of failing parents in the status of a TemplateController.
const mostFailing = 5

// Failing returns some of the failed parents, sorted by name. Parents in before that still fail are preferred, so that the status changes
// rarely; the others are added by name.
func (c *Counts) Failing(before []v1.FailingParent) []v1.FailingParent {
	if c.Parents.Failed == 0 {
		return nil
	}
	kept := map[types.NamespacedName]bool{}
	for _, named := range before {
		kept[types.NamespacedName{Namespace: named.Namespace, Name: named.Name}] = true
	}
	var all []v1.FailingParent
	for parent, t := range c.ByParent {
		if t.Failed {
			all = append(all, v1.FailingParent{Namespace: parent.Namespace, Name: parent.Name, Reason: t.Reason})
		}
	}
	isKept := func(p v1.FailingParent) int {
		if kept[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b v1.FailingParent) int {
		return cmp.Or(cmp.Compare(isKept(a), isKept(b)), byName(a, b))
	})
	all = all[:min(len(all), mostFailing)]
	slices.SortFunc(all, byName)
	return slices.Clip(all)
}

func byName(a, b v1.FailingParent) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// SummarizeParent starts the summary of a parent with the counts of its children.
func SummarizeParent(generation int64, observed []*child.Live, judge *readiness.Judge) *ParentSummary {
	summary := &ParentSummary{Generation: generation, Children: int64(len(observed))}
	for _, l := range observed {
		if judge.Of(l.Entry, l.Object) == readiness.Ready {
			summary.ChildrenReady++
		}
	}
	return summary
}
