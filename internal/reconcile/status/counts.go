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

// ParentSummary is the result of the last reconciliation of one parent. It is flat, as one is kept of each parent.
type ParentSummary struct {
	Generation              int64  // of the TemplateController that the parent was reconciled with
	Ready, Failed           bool   // neither = it waits
	Suspended               bool   // it is not reconciled: nothing else is known but Generation
	Unobserved              bool   // its children were not read: they count as before
	Reason                  string // of the problem to show, where it has failed
	Foreign                 bool   // another manager owns the ready condition
	Rival                   string // the TemplateController that owns the ready condition
	Contested               string // what of the status another TemplateController writes
	Denied                  string // which permission is missing to write the status
	Children, ChildrenReady int64
	Kinds                   uint64 // that the templates want, each by a bit of its controller's
	Round                   int64  // in which all that they want was known; 0 = it was not
}

// Counts adds up the summaries of the parents of a TemplateController.
type Counts struct {
	generation int64 // of the TemplateController, now
	ByParent   map[types.NamespacedName]ParentSummary
	Parents    v1.ParentCounts
	Children   v1.ChildCounts
	Foreign    int64

	Denied, Contested complaints
	Rivals            complaints                        // by the name of the TemplateController
	contested         map[types.NamespacedName]struct{} // the parents with a Contested or a Rival
}

// NewCounts returns counts of no parents.
func NewCounts() *Counts {
	return &Counts{ByParent: map[types.NamespacedName]ParentSummary{}, Denied: complaints{}, Contested: complaints{}, Rivals: complaints{}, contested: map[types.NamespacedName]struct{}{}}
}

// complaints are what summaries say, each with the number of parents that it is said of; none is 0.
type complaints map[string]int64

func (t complaints) add(text string, sign int64) {
	if text == "" {
		return
	}
	if t[text] += sign; t[text] == 0 {
		delete(t, text)
	}
}

// Parents returns of how many parents something is said.
func (t complaints) Parents() int64 {
	var n int64
	for _, parents := range t {
		n += parents
	}
	return n
}

// First returns the text to report: always the same one, as long as it holds.
func (t complaints) First() string {
	for _, text := range slices.Sorted(maps.Keys(t)) {
		return text
	}
	return ""
}

// Set replaces the summary of a parent, or drops it when now is nil, and reports whether that
// changes a sum.
func (c *Counts) Set(parent types.NamespacedName, now *ParentSummary) bool {
	before, known := c.ByParent[parent]
	if known {
		c.add(before, -1)
	}
	if now != nil && now.Unobserved {
		kept := *now
		kept.Children, kept.ChildrenReady = before.Children, before.ChildrenReady
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

// Begin sets the generation of the TemplateController: a parent counts as updated once it is reconciled with that.
func (c *Counts) Begin(generation int64) {
	c.generation, c.Parents.Updated = generation, 0
	for _, t := range c.ByParent {
		if c.updated(t) {
			c.Parents.Updated++
		}
	}
}

// updated reports whether a parent was reconciled with the current spec.
func (c *Counts) updated(t ParentSummary) bool { return t.Generation == c.generation && !t.Suspended }

// RivalOf returns the TemplateController that owned the ready condition of a parent when it was reconciled last, or "".
func (c *Counts) RivalOf(parent types.NamespacedName) string { return c.ByParent[parent].Rival }

// EachContested calls f for the parents of whose status a part is left to another TemplateController: for that one, or for
// all where its name is empty. It visits no others.
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

// mostFailing is how many failing parents the status of a TemplateController names.
const mostFailing = 5

// Failing names some of the parents that have failed, sorted: those named before that still fail, so that the
// status changes little while many do, and then the first by name.
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

// SummarizeParent begins the summary of a parent with its children.
func SummarizeParent(generation int64, observed []*child.Live, judge *readiness.Judge) *ParentSummary {
	summary := &ParentSummary{Generation: generation, Children: int64(len(observed))}
	for _, l := range observed {
		if judge.Of(l.Entry, l.Object) == readiness.Ready {
			summary.ChildrenReady++
		}
	}
	return summary
}
