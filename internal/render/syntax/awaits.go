package syntax

import (
	"maps"
	"slices"
)

// trace records what the check of a definition found.
type trace struct {
	children map[string]bool // read as .children.NAME
	calls    map[visit]bool  // of definitions that it calls
}

// trace returns the trace of a check.
func (c *compiler) trace(v visit) *trace {
	t := c.traces[v]
	if t == nil {
		t = &trace{children: map[string]bool{}, calls: map[visit]bool{}}
		if c.traces == nil {
			c.traces = map[visit]*trace{}
		}
		c.traces[v] = t
	}
	return t
}

// awaits returns the names of the other child templates whose objects a child template reads as .children.NAME, also in define blocks
// that it calls.
func (c *compiler) awaits(u *Unit, own string) []string {
	names := map[string]bool{}
	seen := map[visit]bool{}
	next := []visit{{u.own[""].Tree, true, u.Purpose}}
	for len(next) > 0 && !c.paused() {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		found := c.traces[v]
		if seen[v] || found == nil {
			continue
		}
		seen[v] = true
		maps.Copy(names, found.children)
		next = slices.AppendSeq(next, maps.Keys(found.calls))
	}
	delete(names, own)
	return slices.Sorted(maps.Keys(names))
}
