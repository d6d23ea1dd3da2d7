package typed

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/suggest"
	"github.com/templater-dev/templater/internal/lint/value"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/lint/shape"
	"github.com/templater-dev/templater/internal/render"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// What a check may cost. What is beyond is not looked at, and nothing is said of it.
const (
	maxSteps    = 200_000 // nodes of templates, each as often as it is looked at
	maxNotes    = 500
	maxChain    = 40 // of define blocks that call each other
	maxContexts = 30 // kinds of dot for which a define block is looked at
)

// checker looks through the templates of a TemplateController, with the types of what they read.
type checker struct {
	spec  *v1.TemplateControllerSpec
	known schema.Set

	pause   func() error // see Check
	program *render.Program
	units   *syntax.Templates
	unit    *syntax.Unit
	src     *syntax.Text // that the current block is from
	vars    []variable
	// depth is how many define blocks are around, and dead how many blocks that are not reached with these values.
	depth, dead int
	// unsure is how many conditions are around that objects decide, and left says that a round of a range may have ended before here.
	unsure int
	left   bool
	// conditions are the steps that the conditions around a place look at; collecting says that one is being looked at.
	conditions []string
	collecting int

	notes  []*value.Note
	fine   map[value.Spot]bool       // keys that are there: see resolved
	tested map[string]bool           // steps that conditions look at
	labels map[string]bool           // steps to labels that selectors ask for: see labelled
	seen   map[*parse.Tree][]context // define blocks, and for which dots
	steps  int
	gaveUp bool // steps or notes are used up
	// tooMany is whether there are notes that are dropped.
	tooMany bool
	// partial are the texts with define blocks that have not been looked at for all of their dots.
	partial map[*syntax.Text]bool
	suggest *suggest.Finder

	called  map[*parse.Tree]bool        // define blocks
	printed map[value.Spot]*value.Value // what actions of the templates themselves print, by where their pipelines begin
	anyName bool                        // a define block is called by a name that is computed
	more    []finding.Finding           // that are not in a template

	kinds     map[string]*value.Value // of the objects of entries, by name
	children  map[string]*syntax.Unit // templates of entries, by name
	entries   map[string]string       // names of entries, by that of their readyWhen
	others    map[string]*value.Value // see otherObjects; nil = not known yet
	skeletons outline.Skeletons
}

type variable struct {
	name string
	v    *value.Value
}

// Check returns what the types of values tell of the templates of a spec, which has been compiled to program. A nil set knows
// nothing. It calls pause now and then: an error ends the work, and what it returns then means nothing; nil = there are no pauses. It is safe
// for concurrent use.
func Check(pause func() error, spec *v1.TemplateControllerSpec, program *render.Program, known schema.Set) []finding.Finding {
	c := newChecker(spec, program, known)
	c.pause, c.skeletons.Pause = pause, pause
	c.all()
	if c.ended() {
		return nil
	}
	return c.findings()
}

func newChecker(spec *v1.TemplateControllerSpec, program *render.Program, known schema.Set) *checker {
	c := &checker{
		spec: spec, known: known, program: program, units: program.Templates(),
		fine: map[value.Spot]bool{}, labels: labelled(spec), suggest: suggest.New(), tested: map[string]bool{}, seen: map[*parse.Tree][]context{}, called: map[*parse.Tree]bool{}, printed: map[value.Spot]*value.Value{}, partial: map[*syntax.Text]bool{}, kinds: map[string]*value.Value{}, children: map[string]*syntax.Unit{}, entries: map[string]string{},
	}
	units := make(map[string]*syntax.Unit, len(c.units.Children))
	for _, u := range c.units.Children {
		units[u.Text.Name] = u
	}
	for _, name := range c.units.Names {
		c.children[name], c.entries[syntax.ReadyWhenName(name)] = units[syntax.ChildName(name)], name
	}
	return c
}

// all looks through all templates.
func (c *checker) all() {
	for _, u := range c.units.Selects {
		c.template(u)
	}
	for _, u := range c.units.Children {
		c.template(u)
	}
	c.template(c.units.Status)
	for _, u := range c.units.ReadyWhen {
		c.readyWhen(u)
	}
	if c.units.Filter != nil {
		c.filter(c.units.Filter)
	}
	c.dead, c.depth, c.unsure, c.left = 0, 0, 0, false
	c.faults()
	shape.Check(c.spec, c.units, c.known, c)
	c.unused()
}

// faults notes where templates print text that is not YAML, whatever their data.
func (c *checker) faults() {
	for _, u := range slices.Concat(c.units.Selects, c.units.Children, []*syntax.Unit{c.units.Status}) {
		if u == nil {
			continue
		}
		if offset, why := c.skeletons.FirstFault(u, func(n *parse.ActionNode) bool { return c.isValue(u.Text, n) }); why != "" {
			rest, _, _ := strings.Cut(u.Text.Content[offset:], "\n")
			c.errorf(finding.NoYAML, value.Place{Text: u.Text, Offset: offset, Length: len(strings.TrimRight(rest, " \r"))}, "%s", why)
		}
	}
}

// template looks through a template; nil is none.
func (c *checker) template(u *syntax.Unit) {
	if u == nil {
		return
	}
	c.enter(u)
	c.list(u.Body(), c.vars[0].v)
}

func (c *checker) enter(u *syntax.Unit) {
	c.unit, c.src, c.depth, c.dead, c.unsure, c.left, c.conditions = u, u.Text, 0, 0, 0, false, nil
	c.vars = []variable{{"$", c.root(u)}}
}

// filter looks through the expression that tells which objects are parents. Nothing counts as false.
func (c *checker) filter(u *syntax.Unit) {
	c.enter(u)
	pipe := u.Expression()
	if v := c.pipe(pipe, c.vars[0].v); v.Kinds != schema.Null && !v.May(schema.Boolean) {
		c.errorf(finding.NotBoolean, c.at(pipe), "%s is %s, but must be true or false; compare it, as in eq .spec.class \"a\"", syntax.Excerpt(pipe), (v.Kinds &^ schema.Null).Words())
	}
}

// readyWhen looks through an expression, which is to yield true or false.
func (c *checker) readyWhen(u *syntax.Unit) {
	c.enter(u)
	pipe := u.Expression()
	v := c.pipe(pipe, c.vars[0].v)
	switch {
	case v.Kinds == schema.Null:
		c.lacks(v, pipe)
	case !v.May(schema.Boolean):
		c.errorf(finding.NotBoolean, c.at(pipe), "%s is %s, but must be true or false; compare it, as in eq .object.status.phase \"Bound\"", syntax.Excerpt(pipe), (v.Kinds &^ schema.Null).Words())
	default:
		c.ofOthers(pipe)
	}
}

// step counts the work, and reports whether to go on.
func (c *checker) step() bool {
	c.steps++
	c.gaveUp = c.gaveUp || c.steps > maxSteps || c.ended()
	return !c.gaveUp
}

// ended makes a pause, and reports whether the work has ended in one.
func (c *checker) ended() bool { return c.pause != nil && c.pause() != nil }
