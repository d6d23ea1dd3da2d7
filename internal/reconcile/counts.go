package reconcile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// tally is how one parent fared in its last pass.
type tally struct {
	ready, failed           bool
	reason                  string // of the problem to show, where it has failed
	foreign                 bool   // another manager owns the ready condition
	contested               string // what of the status another TemplateController writes
	denied                  string // which right is missing to write the status
	children, childrenReady int64
	kinds                   uint64 // that the templates want, see entry.bit
	round                   int64  // in which all that they want was known; 0 = it was not
}

// counts adds up the tallies of a controller's parents.
type counts struct {
	tallies  map[types.NamespacedName]tally
	parents  v1.ParentCounts
	children v1.ChildCounts
	foreign  int64

	denied, contested complaints
}

func newCounts() *counts {
	return &counts{tallies: map[types.NamespacedName]tally{}, denied: complaints{}, contested: complaints{}}
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
func (c *counts) set(parent types.NamespacedName, now *tally) bool {
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

func (c *counts) add(t tally, sign int64) {
	c.parents.Total += sign
	if t.ready {
		c.parents.Ready += sign
	}
	if t.failed {
		c.parents.Failed += sign
	}
	if t.foreign {
		c.foreign += sign
	}
	c.contested.add(t.contested, sign)
	c.denied.add(t.denied, sign)
	c.children.Total += sign * t.children
	c.children.Ready += sign * t.childrenReady
}
