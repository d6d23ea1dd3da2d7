package typed

import (
	"slices"
	"text/template/parse"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// maxContexts is the maximum number of types of dot that a define block is checked for.
const maxContexts = 30

// walker walks the nodes of templates.
type walker struct {
	evaluator
	printed types.Printed
	seen    map[*parse.Tree][]context // contexts in which define blocks were checked
	called  map[*parse.Tree]bool      // called define blocks
}

func newWalker(notes *types.Notes, spec *v1.TemplateControllerSpec) *walker {
	w := &walker{
		evaluator: evaluator{position: position{notes: notes}, labels: labeled(spec)},
		printed:   types.Printed{}, seen: map[*parse.Tree][]context{}, called: map[*parse.Tree]bool{},
	}
	w.include = w.call
	return w
}

// enter starts a template with root as its data.
func (w *walker) enter(u *syntax.Unit, root *types.Value) {
	w.unit, w.src, w.reach, w.conditions, w.facts = u, u.Text, reach{}, nil, facts{}
	w.vars = variables{{"$", root}}
}

// template walks a template.
func (w *walker) template(u *syntax.Unit, root *types.Value) {
	w.enter(u, root)
	w.list(u.Body(), root)
}

// list walks nodes.
func (w *walker) list(l *parse.ListNode, dot *types.Value) {
	if l == nil {
		return
	}
	before := w.facts
	for _, n := range l.Nodes {
		if !w.notes.Step() {
			break
		}
		w.node(n, dot)
	}
	w.unlearn(before)
}

func (w *walker) node(n parse.Node, dot *types.Value) {
	switch n := n.(type) {
	case *parse.ActionNode:
		v := w.pipe(n.Pipe, dot)
		if len(n.Pipe.Decl) == 0 {
			w.prints(v, n.Pipe)
		}
	case *parse.IfNode:
		w.branch(&n.BranchNode, dot)
	case *parse.WithNode:
		w.branch(&n.BranchNode, dot)
	case *parse.RangeNode:
		w.rangeOver(n, dot)
	case *parse.BreakNode, *parse.ContinueNode:
		w.left = true
	case *parse.TemplateNode:
		v := types.Missing
		if n.Pipe != nil {
			v = w.pipe(n.Pipe, dot)
		}
		w.call(n.Name, v)
	}
}

// prints checks a printed value.
func (w *walker) prints(v *types.Value, n *parse.PipeNode) {
	if at := (types.Spot{Text: w.src, Offset: int(n.Pos)}); w.depth == 0 {
		w.printed[at] = types.Join(w.printed[at], v)
	}
	if v.Kinds == openapi.Null {
		w.lacks(v, n)
		return
	}
	w.mayLack(v, n)
}

// lacks reports a required value that is always missing.
func (w *walker) lacks(v *types.Value, n parse.Node) {
	w.fails(v.Notes...)
	if len(v.Notes) == 0 {
		w.errorf(finding.NoValue, w.at(n), "%s has no value; set it, or use default, required or if", syntax.Excerpt(n))
	}
}

// branch walks an if or with.
func (w *walker) branch(n *parse.BranchNode, dot *types.Value) {
	vars, conditions := len(w.vars), len(w.conditions)
	v := w.condition(n.Pipe, dot)
	inner := dot
	if n.NodeType == parse.NodeWith {
		inner = v.Present()
	}
	before, known := slices.Clone(w.vars), w.facts
	w.notes.Steps += len(before)
	yes, no := v.Outcomes()
	w.assume(yes)
	w.block(n.List, inner, v.Never(), v.Always())
	w.unlearn(known)
	after := w.vars
	w.vars = before
	w.assume(no)
	w.block(n.ElseList, dot, v.Always(), v.Never())
	w.unlearn(known)
	w.vars.merge(after)
	w.vars, w.conditions = w.vars[:vars], w.conditions[:conditions]
	switch { // what follows is only rendered after the other branch
	case fails(n.List):
		w.assume(types.Outcome{Has: no.Has})
	case fails(n.ElseList):
		w.assume(types.Outcome{Has: yes.Has})
	}
}

// block walks a block below a condition. If the condition is never true, little is reported, and if it is not always true, findings are
// warnings.
func (w *walker) block(l *parse.ListNode, dot *types.Value, never, always bool) {
	vars, before := len(w.vars), w.reach
	if never {
		w.dead++
	}
	if !never && !always {
		w.unsure++
	}
	w.list(l, dot)
	w.vars, w.dead, w.unsure = w.vars[:vars], before.dead, before.unsure
}

// condition evaluates the pipeline of an if or with, and records the values that it tests.
func (w *walker) condition(pipe *parse.PipeNode, dot *types.Value) *types.Value {
	w.collecting++
	v := w.pipe(pipe, dot)
	w.collecting--
	return v
}

// rangeOver walks a range once, with variables of any type that its body assigns.
func (w *walker) rangeOver(n *parse.RangeNode, dot *types.Value) {
	vars := len(w.vars)
	known := w.facts
	w.met = []string{}
	v := w.pipe(n.Pipe, dot)
	met := w.met
	w.met = known.met
	w.ranges(v, n)
	unchanged := slices.Clone(w.vars)
	assigned := map[string]assignment{}
	assignments(n.List, assigned, w.notes.Step)
	growing := w.vars.forget(assigned)
	before := slices.Clone(w.vars)
	w.notes.Steps += 2 * len(before)
	item := v.RangeValue()
	w.notes.Steps += len(v.Keys)
	switch decl := n.Pipe.Decl; len(decl) {
	case 1:
		w.vars.assign(decl[0].Ident[0], item)
	case 2:
		w.vars.assign(decl[0].Ident[0], v.RangeKey())
		w.vars.assign(decl[1].Ident[0], item)
	}
	left := w.left
	w.assume(types.Outcome{Has: met})
	w.block(n.List, item, v.Never(), true) // assume that lists have items
	w.left = left
	w.unlearn(known)
	after := w.vars
	w.vars = before
	if v.Never() { // its body never runs
		after, w.vars, growing = slices.Clone(unchanged), unchanged, nil
	}
	w.block(n.ElseList, dot, false, v.Never())
	w.vars.merge(after)
	w.vars = w.vars[:vars]
	w.vars.grown(growing)
}

// ranges checks the value of a range.
func (w *walker) ranges(v *types.Value, n *parse.RangeNode) {
	const takes = openapi.List | openapi.Map | openapi.Integer
	switch {
	case v.Kinds == 0 || v.Kinds == openapi.Null:
	case v.Kinds&takes == 0:
		w.maybe(v.Kinds&openapi.Null == 0, finding.RangeOver, w.at(n.Pipe), "range needs a list, a map or an integer; %s is %s", excerpt(n.Pipe), (v.Kinds &^ openapi.Null).Words())
	case v.Kinds == openapi.Integer && len(n.Pipe.Decl) > 1:
		w.errorf(finding.RangeOver, w.at(n.Pipe), "range over an integer has one variable, not two")
	}
}

func excerpt(pipe *parse.PipeNode) string {
	bare := *pipe
	bare.Decl = nil
	return syntax.Excerpt(&bare)
}

// context is a context in which a define block was checked: dot, reachability, and the maximum severity of findings.
type context struct {
	dot     *types.Value
	dead    bool
	gravest finding.Severity
}

// call walks a define block, once for each type of dot.
func (w *walker) call(name string, dot *types.Value) {
	def, ok := w.unit.Lookup(name)
	if !ok {
		return
	}
	const deep = 3
	w.called[def.Tree] = true
	contexts := w.seen[def.Tree]
	for _, known := range contexts {
		w.notes.Steps += 10 + len(dot.Keys)
		if known.dead == (w.dead > 0) && (known.gravest == finding.Error || known.gravest == w.gravest()) && known.dot.Same(dot, deep) {
			return
		}
	}
	if len(contexts) >= maxContexts || w.depth >= types.MaxChain {
		w.notes.Partial[def.Text] = true
		return
	}
	w.seen[def.Tree] = append(contexts, context{dot, w.dead > 0, w.gravest()})
	vars, src, conditions, collecting := w.vars, w.src, w.conditions, w.collecting
	w.vars, w.src, w.collecting = variables{{"$", dot}}, def.Text, 0
	w.depth++
	w.list(def.Tree.Root, dot)
	w.depth--
	w.vars, w.src, w.conditions, w.collecting = vars, src, conditions, collecting
}
