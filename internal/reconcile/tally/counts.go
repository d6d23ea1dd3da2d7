package tally

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Counts adds up the tallies of a controller's parents.
type Counts struct {
	generation int64 // of the TemplateController, now
	Tallies    map[types.NamespacedName]Tally
	Parents    v1.ParentCounts
	Children   v1.ChildCounts
	Foreign    int64

	Denied, Contested complaints
	Rivals            complaints                        // by the name of the TemplateController
	contested         map[types.NamespacedName]struct{} // the parents with a Contested or a Rival
}

// New returns counts of no parents.
func New() *Counts {
	return &Counts{Tallies: map[types.NamespacedName]Tally{}, Denied: complaints{}, Contested: complaints{}, Rivals: complaints{}, contested: map[types.NamespacedName]struct{}{}}
}

// complaints are what tallies say, each with the number of parents that it is said of; none is 0.
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

// First returns the text to tell: always the same one, as long as it holds.
func (t complaints) First() string {
	for _, text := range slices.Sorted(maps.Keys(t)) {
		return text
	}
	return ""
}

// Set replaces the tally of a parent, or drops it when now is nil, and reports whether that
// changes a sum.
func (c *Counts) Set(parent types.NamespacedName, now *Tally) bool {
	before, known := c.Tallies[parent]
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
		delete(c.Tallies, parent)
		return known
	}
	c.Tallies[parent] = *now
	c.add(*now, 1)
	return !known || before != *now
}

// Begin sets the generation of the TemplateController: a parent counts as updated once it is reconciled with that.
func (c *Counts) Begin(generation int64) {
	c.generation, c.Parents.Updated = generation, 0
	for _, t := range c.Tallies {
		if c.updated(t) {
			c.Parents.Updated++
		}
	}
}

// updated reports whether a parent was reconciled with the current spec.
func (c *Counts) updated(t Tally) bool { return t.Generation == c.generation && !t.Suspended }

// RivalOf returns the TemplateController that owned the ready condition of a parent when it was reconciled last, or "".
func (c *Counts) RivalOf(parent types.NamespacedName) string { return c.Tallies[parent].Rival }

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

func (c *Counts) add(t Tally, sign int64) {
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
