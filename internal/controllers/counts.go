package controllers

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile"
)

// counts adds up the tallies of a controller's parents.
type counts struct {
	tallies  map[types.NamespacedName]reconcile.Tally
	parents  v1.ParentCounts
	children v1.ChildCounts
	foreign  int64

	denied, contested complaints
}

func newCounts() *counts {
	return &counts{tallies: map[types.NamespacedName]reconcile.Tally{}, denied: complaints{}, contested: complaints{}}
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

// parents returns of how many parents something is said.
func (t complaints) parents() int64 {
	var n int64
	for _, parents := range t {
		n += parents
	}
	return n
}

// first returns the text to tell: always the same one, as long as it holds.
func (t complaints) first() string {
	for _, text := range slices.Sorted(maps.Keys(t)) {
		return text
	}
	return ""
}

// set replaces the tally of a parent, or drops it when now is nil, and reports whether that
// changes a sum.
func (c *counts) set(parent types.NamespacedName, now *reconcile.Tally) bool {
	before, known := c.tallies[parent]
	if known {
		c.add(before, -1)
	}
	if now == nil {
		delete(c.tallies, parent)
		return known
	}
	c.tallies[parent] = *now
	c.add(*now, 1)
	return !known || before != *now
}

func (c *counts) add(t reconcile.Tally, sign int64) {
	c.parents.Total += sign
	if t.Ready {
		c.parents.Ready += sign
	}
	if t.Failed {
		c.parents.Failed += sign
	}
	if t.Foreign {
		c.foreign += sign
	}
	c.contested.add(t.Contested, sign)
	c.denied.add(t.Denied, sign)
	c.children.Total += sign * t.Children
	c.children.Ready += sign * t.ChildrenReady
}
