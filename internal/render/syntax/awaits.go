package syntax

import "slices"

// trace is what the check of a definition has found in it.
type trace struct {
	children []string // read as .children.NAME
	calls    []visit  // of definitions that it calls
}

// trace returns that of a check.
func (c *compiler) trace(v visit) *trace {
	t := c.traces[v]
	if t == nil {
		t = &trace{}
		if c.traces == nil {
			c.traces = map[visit]*trace{}
		}
		c.traces[v] = t
	}
	return t
}

// awaits returns the names of other children that a child's template reads as .children.NAME, also in what it calls.
func (c *compiler) awaits(u *Unit, own string) []string {
	var names []string
	seen := map[visit]bool{}
	next := []visit{{u.own[""].Tree, true, u.Purpose}}
	for len(next) > 0 {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		found := c.traces[v]
		if seen[v] || found == nil {
			continue
		}
		seen[v] = true
		names = append(names, found.children...)
		next = append(next, found.calls...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == own })
}
