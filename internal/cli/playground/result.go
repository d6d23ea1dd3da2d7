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

// Result is the result of reconciling one parent until nothing changes.
type Result struct {
	TemplateController string      `json:"templateController"`
	Parent             show.Parent `json:"parent"`
	// Ready is the ready condition.
	Ready show.Ready `json:"ready"`
	// Waits are the waits in the words of the ready condition. Errors are in Problems of the answer.
	Waits []string `json:"waits"`
	// Writes are the requests of templater, in order.
	Writes   []string `json:"writes"`
	Children []Child  `json:"children"`
	// Left is the number of children that are not shown.
	Left int `json:"left"`
	// Status is the status that templater writes, as YAML; "" for kinds whose status it does not write.
	Status string `json:"status"`
	// Tree is the parent with its child templates, their dependencies, and the state of their objects.
	Tree tree.Tree `json:"tree"`
}

// Child is an object that a child template renders or has rendered.
type Child struct {
	Entry string `json:"entry"`
	Kind  string `json:"kind"`
	Name  string `json:"name"` // with its namespace, if any
	// State is "ready", or the reason why the object is not.
	State string `json:"state"`
	// YAML is the object as rendered, with its namespace.
	YAML string `json:"yaml"`
	// From is the place in its template.
	From Place `json:"from"`
}

// renderAll reconciles all parents with the compiled TemplateControllers.
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
				watched[p] = true // if it is rejected, only that is reported
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

// pass reconciles one parent until nothing changes.
func (b *builder) pass(c controller, parent *manifest.Object) {
	at := func(err error) *manifest.Error {
		return &manifest.Error{File: parent.File, Line: parent.Line, Message: err.Error()}
	}
	in := simulate.State{Parent: parent.Content, Objects: b.sets[Observed].Contents(), Related: b.sets[Related].Contents(), Now: b.now}
	c.simulator.Explain = b.Explain
	result, out, err := c.simulator.SettleReady(in, func(entry string) bool { return b.AllReady || slices.Contains(b.Ready, entry) })
	switch {
	case errors.Is(err, simulate.ErrNotConverging):
		b.problem(c.Located(err.Error()))
	case err != nil:
		b.problem(at(err))
		return
	}
	for _, fault := range result.Errors {
		b.problem(c.Located(fault))
	}
	shown := show.Of(c.TemplateController.Key(), out.Parent, result)
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
	result.Writes = nil // they led to the observed state
	r.Tree = tree.NewParent(out.Parent, []tree.Controller{tree.After(c.TemplateController, c.compiled, out, result)})
	b.answer.Results = append(b.answer.Results, r)
}

// show adds children up to the limits.
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
