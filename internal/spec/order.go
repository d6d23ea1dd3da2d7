package spec

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Order says which entries of spec.children wait for which others. It does not change; nil is that of entries of which
// none waits.
type Order struct {
	sorted []string // see Waiting
	places map[string]place
}

// place is that of an entry that waits.
type place struct {
	level  int
	waits  []string        // see DependsOn
	before map[string]bool // see After
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
	return o != nil && o.places[entry].before[other]
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
	g := graph{list: l, edges: map[string][]edge{}, state: map[string]int{}, order: &Order{places: map[string]place{}}}
	names := namesOf(children)
	var all []*Rejection
	for _, c := range children {
		all = append(all, g.add(c, names, awaits(c.Name)))
	}
	if r := joined(all...); r != nil {
		return nil, r
	}
	for _, name := range names {
		if cycle := g.visit(name); cycle != nil {
			return nil, l.cycleFault(cycle)
		}
	}
	if len(g.order.sorted) == 0 {
		return nil, nil //nolint:nilnil // that is the order of entries of which none waits
	}
	return g.order, nil
}

func namesOf(children []v1.Child) []string {
	names := make([]string, len(children))
	for i, c := range children {
		names[i] = c.Name
	}
	return names
}

// edge is from an entry to one that it waits for.
type edge struct {
	from, to string
	said     bool // in dependsOn, and not by the template
}

// graph is the edges of entries, in the order of spec.children, and how far they have been followed.
type graph struct {
	list  list
	edges map[string][]edge
	state map[string]int
	path  []edge // that is being followed
	order *Order
}

// How far the edges of an entry have been followed.
const (
	untouched = iota
	following
	done
)

// add adds the edges of an entry.
func (g *graph) add(c v1.Child, names, awaits []string) *Rejection {
	known := syntax.Keys{Names: slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool { return name == c.Name })}
	where := g.list.entry(c.Name) + ".dependsOn"
	var all []*Rejection
	for _, name := range c.DependsOn {
		if name == c.Name {
			all = append(all, wrong(finding.DependsOn, where, "an entry cannot wait for itself: remove %s", name))
		} else if err := known.Check(name); err != nil {
			r := wrong(finding.DependsOn, where, "no entry of %s: %s", g.list, err)
			r.Message = fmt.Sprintf("%s names no entry of %s: %s", where, g.list, err)
			all = append(all, r)
		}
	}
	if r := joined(all...); r != nil {
		return r
	}
	for _, name := range names {
		read := slices.Contains(awaits, name)
		if read || slices.Contains(c.DependsOn, name) {
			g.edges[c.Name] = append(g.edges[c.Name], edge{c.Name, name, !read})
		}
	}
	return nil
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
	here := place{before: map[string]bool{}}
	for _, e := range g.edges[name] {
		g.path = append(g.path, e)
		if cycle := g.visit(e.to); cycle != nil {
			return cycle
		}
		g.path = g.path[:len(g.path)-1]
		here.waits = append(here.waits, e.to)
		here.add(e.to, g.order.places[e.to])
	}
	g.state[name] = done
	if len(here.waits) > 0 {
		g.order.places[name] = here
		g.order.sorted = append(g.order.sorted, name)
	}
	return nil
}

// add notes another entry to wait for.
func (p *place) add(name string, of place) {
	p.level = max(p.level, of.level+1)
	p.before[name] = true
	for before := range of.before {
		p.before[before] = true
	}
}

// cycleFault says who waits for whom, and why.
func (l list) cycleFault(cycle []edge) *Rejection {
	words := make([]string, len(cycle))
	for i, e := range cycle {
		words[i] = fmt.Sprintf("the template of %s reads .children.%s", e.from, e.to)
		if e.said {
			words[i] = fmt.Sprintf("%s names %s in dependsOn", e.from, e.to)
		}
	}
	return wrong(finding.Cycle, string(l), "entries wait for each other, so that none would ever be made: %s; read .observed instead of .children in one of the templates, which does not wait, or remove a name from dependsOn", strings.Join(words, ", "))
}
