package playground

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/simulate/show"
	"github.com/templater-dev/templater/internal/cli/tree"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Result is what became of one parent once there was nothing left to do.
type Result struct {
	TemplateController string      `json:"templateController"`
	Parent             show.Parent `json:"parent"`
	// Ready is what the ready condition says.
	Ready show.Ready `json:"ready"`
	// Waits say what waits for what, in the words of the ready condition. Faults are among the problems of the answer.
	Waits []string `json:"waits"`
	// Writes are what templater did, in order.
	Writes   []string `json:"writes"`
	Children []Child  `json:"children"`
	// Left is how many children there are besides those that are shown.
	Left int `json:"left"`
	// Status is what templater writes of the parent's status, as YAML; "" for kinds whose status it does not write.
	Status string `json:"status"`
	// Tree is the parent with its entries, what these wait for, and how their objects stand.
	Tree tree.Tree `json:"tree"`
}

// Child is an object that an entry yields, or one that is left of it.
type Child struct {
	Entry string `json:"entry"`
	Kind  string `json:"kind"`
	Name  string `json:"name"` // with its namespace, where it has one
	// State is "ready", or why the object is not.
	State string `json:"state"`
	// YAML is the object as the template yields it, in its namespace.
	YAML string `json:"yaml"`
	// From is where its template begins to write it.
	From Place `json:"from"`
}

// renderAll makes passes over all parents, by what the TemplateControllers come to.
func (b *builder) renderAll(controllers []controller) {
	parents := slices.Concat(b.sets[Parents].Objects, b.sets[Controllers].Objects)
	if len(parents) > mostParents {
		b.fail(fmt.Errorf("the playground renders at most %d parents, and there are %d: remove some", mostParents, len(parents)))
		return
	}
	watched := map[*manifest.Object]bool{}
	for _, c := range controllers {
		for _, p := range parents {
			if c.simulator == nil || c.simulator.OfKind(p.Content) {
				watched[p] = true // where it is refused, that is said, and nothing else
			}
			if c.simulator != nil && c.simulator.OfKind(p.Content) {
				b.pass(c, p)
			}
		}
	}
	for _, p := range b.sets[Parents].Objects {
		if !watched[p] && len(controllers) > 0 {
			b.problem(&manifest.Error{File: p.File, Line: p.Line, Message: "no TemplateController watches objects of this kind: compare apiVersion and kind with spec.watch"})
		}
	}
}

// pass makes passes over one parent until there is nothing left to do.
func (b *builder) pass(c controller, parent *manifest.Object) {
	at := func(err error) *manifest.Error {
		return &manifest.Error{File: parent.File, Line: parent.Line, Message: err.Error()}
	}
	in := simulate.State{Parent: parent.Content, Objects: b.sets[Observed].Contents(), Related: b.sets[Related].Contents(), Now: b.now}
	c.simulator.Explain = b.Explain
	result, out, err := c.simulator.SettleReady(in, func(entry string) bool { return b.AllReady || slices.Contains(b.Ready, entry) })
	switch {
	case errors.Is(err, simulate.ErrRestless):
		b.problem(c.Located(err.Error()))
	case err != nil:
		b.problem(at(err))
		return
	}
	for _, fault := range result.Faults {
		b.problem(c.Located(fault))
	}
	shown := show.Of(c.TemplateController.Name, out.Parent, result)
	r := Result{
		TemplateController: shown.TemplateController, Parent: shown.Parent, Ready: shown.Ready, Waits: shown.Waits, Writes: shown.Writes, Children: []Child{},
	}
	r.show(c.Controller, result.Children, shown.Children, b.Explain)
	if shown.Status != nil {
		text, err := yaml.Marshal(shown.Status)
		if err != nil {
			b.problem(at(err))
		}
		r.Status = string(text)
	}
	result.Writes = nil // they are what led to the state, in which nothing is left to do
	r.Tree = tree.NewParent(out.Parent, []tree.Controller{tree.After(c.TemplateController, c.compiled, out, result)})
	b.answer.Results = append(b.answer.Results, r)
}

// show adds the children that there is room for.
func (r *Result) show(c *manifest.Controller, children []simulate.Child, shown []show.Child, explain bool) {
	room := mostBytes
	for i, one := range shown {
		text, err := one.YAML(explain)
		if room -= len(text); err != nil || i == mostChildren || room < 0 {
			r.Left = len(shown) - i
			return
		}
		id := child.IDOf(one.Object)
		out := Child{Entry: one.Entry, Kind: id.Kind.Kind, Name: strings.TrimPrefix(id.Name.String(), "/"), State: one.State, YAML: text}
		if line := children[i].Line; line > 0 {
			out.From.Text, out.From.Line, out.From.Column = c.Place(syntax.ChildName(one.Entry), line, 0)
		}
		r.Children = append(r.Children, out)
	}
}
