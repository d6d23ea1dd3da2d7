package reconcile

import (
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// tally is how one parent fared in its last pass.
type tally struct {
	ready, failed           bool
	foreign                 bool   // another manager owns the ready condition
	denied                  string // which right is missing to write the status
	children, childrenReady int64
}

// counts adds up the tallies of a controller's parents.
type counts struct {
	tallies  map[types.NamespacedName]tally
	parents  v1.ParentCounts
	children v1.ChildCounts
	foreign  int64
	denied   int64
	why      string // which right was missing last
}

func newCounts() *counts { return &counts{tallies: map[types.NamespacedName]tally{}} }

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
	if t.denied != "" {
		c.denied += sign
		c.why = t.denied
	}
	c.children.Total += sign * t.children
	c.children.Ready += sign * t.childrenReady
}
