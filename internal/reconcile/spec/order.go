package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Order says which entries of spec.children wait for which others. It does not change; nil is that of entries of which
// none waits.
type Order struct {
	sorted []string // see Waiting
	places map[string]place
	before func() map[string]map[string]bool // see After; it is computed once, at the first call
}

// place is that of an entry that waits.
type place struct {
	level int
	waits []string // see DependsOn
}

// Waiting returns the entries that wait for others, each behind those that it waits for.
func (o *Order) Waiting() []string {
	if o == nil {
		return nil
	}
	return o.sorted
}

// DependsOn returns the entries that an entry waits for itself, in the order of spec.children.
func (o *Order) DependsOn(entry string) []string {
	if o == nil {
		return nil
	}
	return o.places[entry].waits
}

// After reports whether an entry waits for another one, itself or by way of others.
func (o *Order) After(entry, other string) bool {
	return o != nil && o.before()[entry][other]
}

// allBefore returns for each entry that waits all that it waits for, itself or by way of others.
func (o *Order) allBefore() map[string]map[string]bool {
	all := make(map[string]map[string]bool, len(o.sorted))
	for _, entry := range o.sorted {
		before := map[string]bool{}
		for _, other := range o.places[entry].waits {
			before[other] = true
			maps.Copy(before, all[other])
		}
		all[entry] = before
	}
	return all
}

// Levels returns for each entry that waits one more than the highest level of those that it waits for; that of others is 0.
func (o *Order) Levels() map[string]int {
	if o == nil {
		return nil
	}
	levels := make(map[string]int, len(o.places))
	for entry, of := range o.places {
		levels[entry] = of.level
	}
	return levels
}

// list is a list of entries, by its path.
type list string

// The lists of entries. Those of one wait for each other alone.
const (
	inChildren list = "spec.children"
	inFinalize list = "spec.finalize.children"
)

// entry returns how one of them is called.
func (l list) entry(name string) string { return fmt.Sprintf("%s[%s]", l, name) }

// order returns the order of entries, of which each waits for those that its template awaits and for those in its dependsOn.
func (l list) order(children []v1.Child, awaits func(entry string) []string) (*Order, *Rejection) {
	g := graph{list: l, places: map[string]int{}, edges: map[string][]edge{}, state: map[string]int{}, order: &Order{places: map[string]place{}}}
	for i, c := range children {
		g.places[c.Name] = i
	}
	var all faults
	for _, c := range children {
		g.unknown(c, &all)
	}
	if r := all.joined(); r != nil {
		return nil, r
	}
	for _, c := range children {
		g.add(c, awaits(c.Name))
	}
	for _, c := range children {
		if cycle := g.visit(c.Name); cycle != nil {
			return nil, l.cycleFault(cycle)
		}
	}
	if len(g.order.sorted) == 0 {
		return nil, nil //nolint:nilnil // that is the order of entries of which none waits
	}
	g.order.before = sync.OnceValue(g.order.allBefore)
	return g.order, nil
}

// edge is from an entry to one that it waits for.
type edge struct {
	from, to string
	said     bool // in dependsOn, and not by the template
}

// graph is the edges of entries, in the order of spec.children, and how far they have been followed.
type graph struct {
	list   list
	places map[string]int // of entries in spec.children, by name
	edges  map[string][]edge
	state  map[string]int
	path   []edge // that is being followed
	order  *Order
}

// How far the edges of an entry have been followed.
const (
	untouched = iota
	following
	done
)

// unknown adds which names in the dependsOn of an entry are those of no other entry.
func (g *graph) unknown(c v1.Child, all *faults) {
	where := g.list.entry(c.Name) + ".dependsOn"
	for _, name := range c.DependsOn {
		_, known := g.places[name]
		switch {
		case known && name != c.Name:
		case all.full():
			all.left = true
			return
		case known:
			all.add(wrong(finding.DependsOn, where, "an entry cannot wait for itself: remove %s", name))
		default:
			others := syntax.Keys{Names: slices.DeleteFunc(slices.Sorted(maps.Keys(g.places)), func(other string) bool { return other == c.Name })}
			err := others.Check(name)
			r := wrong(finding.DependsOn, where, "no entry of %s: %s", g.list, err)
			r.Message = fmt.Sprintf("%s names no entry of %s: %s", where, g.list, err)
			all.add(r)
		}
	}
}

// add adds the edges of an entry, whose template awaits others. Each name is that of an entry, or of one of another list.
func (g *graph) add(c v1.Child, awaits []string) {
	said := map[string]bool{} // by name: whether dependsOn alone has it
	for _, name := range c.DependsOn {
		said[name] = true
	}
	for _, name := range awaits {
		said[name] = false
	}
	for name, alone := range said {
		if _, known := g.places[name]; known {
			g.edges[c.Name] = append(g.edges[c.Name], edge{c.Name, name, alone})
		}
	}
	slices.SortFunc(g.edges[c.Name], func(a, b edge) int { return cmp.Compare(g.places[a.to], g.places[b.to]) })
}

// visit gives an entry its place, behind those that it waits for. It returns the edges of a cycle, if there is one.
func (g *graph) visit(name string) (cycle []edge) {
	switch g.state[name] {
	case done:
		return nil
	case following:
		return g.path[slices.IndexFunc(g.path, func(e edge) bool { return e.from == name }):]
	}
	g.state[name] = following
	var here place
	for _, e := range g.edges[name] {
		g.path = append(g.path, e)
		if cycle := g.visit(e.to); cycle != nil {
			return cycle
		}
		g.path = g.path[:len(g.path)-1]
		here.waits = append(here.waits, e.to)
		here.level = max(here.level, g.order.places[e.to].level+1)
	}
	g.state[name] = done
	if len(here.waits) > 0 {
		g.order.places[name] = here
		g.order.sorted = append(g.order.sorted, name)
	}
	return nil
}

// cycleFault returns which child templates wait for each other, and why.
func (l list) cycleFault(cycle []edge) *Rejection {
	words := make([]string, len(cycle))
	for i, e := range cycle {
		words[i] = fmt.Sprintf("the template of %s reads .children.%s", e.from, e.to)
		if e.said {
			words[i] = fmt.Sprintf("%s names %s in dependsOn", e.from, e.to)
		}
	}
	return wrong(finding.Cycle, string(l), "dependency cycle, none of these entries would ever be applied: %s; in one of the templates, read .observed, which does not wait, instead of .children, or remove a name from dependsOn", strings.Join(words, ", "))
}
