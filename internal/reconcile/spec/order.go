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

// Order is the dependency order of spec.children. It is immutable. A nil Order has no dependencies.
type Order struct {
	sorted []string // see Waiting
	places map[string]place
	before func() map[string]map[string]bool // see After; computed at the first call
}

// place is the position of a child template with dependencies.
type place struct {
	level int
	waits []string // see DependsOn
}

// Waiting returns the child templates with dependencies, each after its dependencies.
func (o *Order) Waiting() []string {
	if o == nil {
		return nil
	}
	return o.sorted
}

// DependsOn returns the direct dependencies of a child template, in the order of spec.children.
func (o *Order) DependsOn(entry string) []string {
	if o == nil {
		return nil
	}
	return o.places[entry].waits
}

// After reports whether a child template depends on another one, directly or transitively.
func (o *Order) After(entry, other string) bool {
	return o != nil && o.before()[entry][other]
}

// allBefore returns all direct and transitive dependencies of each child template.
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

// Level returns the level of a child template: one more than the highest level of its dependencies, or 0 if it has none.
func (o *Order) Level(entry string) int { return o.places[entry].level }

// Levels returns the Level of each child template that has dependencies.
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

// list is a list of child templates, by its path in the spec.
type list string

// The lists of child templates. Dependencies exist only within a list.
const (
	inChildren list = "spec.children"
	inFinalize list = "spec.finalize.children"
)

// entry returns the path of a child template.
func (l list) entry(name string) string { return fmt.Sprintf("%s[%s]", l, name) }

// order returns the dependency order of child templates. The dependencies of each are those that its template awaits, and its dependsOn.
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
		return nil, nil //nolint:nilnil // nil is the Order without dependencies
	}
	g.order.before = sync.OnceValue(g.order.allBefore)
	return g.order, nil
}

// edge connects a child template with a dependency.
type edge struct {
	from, to string
	said     bool // only in dependsOn, not by the template
}

// graph is the dependency graph of a list, and the state of its traversal.
type graph struct {
	list   list
	places map[string]int // positions of child templates in the list, by name
	edges  map[string][]edge
	state  map[string]int
	path   []edge // the path that is being followed
	order  *Order
}

// The traversal states of a child template.
const (
	untouched = iota
	following
	done
)

// unknown adds faults for names in the dependsOn of a child template that are its own name or unknown.
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
			all.add(wrong(finding.DependsOn, where, "a child template cannot wait for itself: remove %s", name))
		default:
			others := syntax.Keys{Names: slices.DeleteFunc(slices.Sorted(maps.Keys(g.places)), func(other string) bool { return other == c.Name })}
			err := others.Check(name)
			r := wrong(finding.DependsOn, where, "no child template in %s: %s", g.list, err)
			r.Message = fmt.Sprintf("%s names no child template in %s: %s", where, g.list, err)
			all.add(r)
		}
	}
}

// add adds the edges of a child template for its dependsOn and for awaits, the names that its template reads. It ignores names of other lists.
func (g *graph) add(c v1.Child, awaits []string) {
	said := map[string]bool{} // by name: whether only dependsOn has it
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

// visit adds a child template to the order, after its dependencies. If there is a cycle, it returns its edges.
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

// cycleFault returns a rejection that describes the child templates in a cycle, and why they depend on each other.
func (l list) cycleFault(cycle []edge) *Rejection {
	words := make([]string, len(cycle))
	for i, e := range cycle {
		words[i] = fmt.Sprintf("the template of %s reads .children.%s", e.from, e.to)
		if e.said {
			words[i] = fmt.Sprintf("%s lists %s in dependsOn", e.from, e.to)
		}
	}
	return wrong(finding.Cycle, string(l), "dependency cycle: %s, so none of these child templates can start; read .observed (which does not wait) instead of .children in one of them, or remove a name from dependsOn", strings.Join(words, ", "))
}
