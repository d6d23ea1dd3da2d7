package typed

import (
	"slices"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// list looks through nodes.
func (c *checker) list(l *parse.ListNode, dot *value.Value) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		if !c.step() {
			return
		}
		c.node(n, dot)
	}
}

func (c *checker) node(n parse.Node, dot *value.Value) {
	switch n := n.(type) {
	case *parse.ActionNode:
		v := c.pipe(n.Pipe, dot)
		if len(n.Pipe.Decl) == 0 {
			c.prints(v, n.Pipe)
		}
	case *parse.IfNode:
		c.branch(&n.BranchNode, dot)
	case *parse.WithNode:
		c.branch(&n.BranchNode, dot)
	case *parse.RangeNode:
		c.rangeOver(n, dot)
	case *parse.BreakNode, *parse.ContinueNode:
		c.left = true
	case *parse.TemplateNode:
		v := value.Missing
		if n.Pipe != nil {
			v = c.pipe(n.Pipe, dot)
		}
		c.call(n.Name, v)
	}
}

// prints looks at a value that is printed.
func (c *checker) prints(v *value.Value, n *parse.PipeNode) {
	if at := (value.Spot{Text: c.src, Offset: int(n.Pos)}); c.depth == 0 {
		c.printed[at] = value.Join(c.printed[at], v)
	}
	if v.Kinds == schema.Null {
		c.lacks(v, n)
		return
	}
	c.mayLack(v, n)
}

// lacks notes that a value is always missing where there must be one.
func (c *checker) lacks(v *value.Value, n parse.Node) {
	c.fails(v.Notes...)
	if len(v.Notes) == 0 {
		c.errorf(finding.NoValue, c.at(n), "%s has no value; give it one, or use default, required or if", syntax.Excerpt(n))
	}
}

// branch looks through an if or a with.
func (c *checker) branch(n *parse.BranchNode, dot *value.Value) {
	vars, conditions := len(c.vars), len(c.conditions)
	v := c.condition(n.Pipe, dot)
	inner := dot
	if n.NodeType == parse.NodeWith {
		inner = v.Present()
	}
	before := slices.Clone(c.vars)
	c.steps += len(before)
	c.block(n.List, inner, v.Never(), v.Always())
	after := c.vars
	c.vars = before
	c.block(n.ElseList, dot, v.Always(), v.Never())
	c.merge(after)
	c.vars, c.conditions = c.vars[:vars], c.conditions[:conditions]
}

// block looks through what a condition is before. Where it is never so, little is said of it, and where it is not always so, it is
// said as a warning.
func (c *checker) block(l *parse.ListNode, dot *value.Value, never, always bool) {
	vars, dead, unsure := len(c.vars), c.dead, c.unsure
	if never {
		c.dead++
	}
	if !never && !always {
		c.unsure++
	}
	c.list(l, dot)
	c.vars, c.dead, c.unsure = c.vars[:vars], dead, unsure
}

// merge makes variables what they are after one of two branches.
func (c *checker) merge(other []variable) {
	for i := range c.vars {
		if c.vars[i].v != other[i].v {
			c.vars[i].v = value.Join(c.vars[i].v, other[i].v)
		}
	}
}

// condition looks at the pipeline of an if or a with, and keeps what it looks at.
func (c *checker) condition(pipe *parse.PipeNode, dot *value.Value) *value.Value {
	c.collecting++
	v := c.pipe(pipe, dot)
	c.collecting--
	return v
}

// rangeOver looks through a range: once, with variables that are whatever its body makes of them.
func (c *checker) rangeOver(n *parse.RangeNode, dot *value.Value) {
	vars := len(c.vars)
	v := c.pipe(n.Pipe, dot)
	c.ranges(v, n)
	unchanged := slices.Clone(c.vars)
	growing := c.forget(n.List)
	before := slices.Clone(c.vars)
	c.steps += 2 * len(before)
	item := v.RangeValue()
	c.steps += len(v.Keys)
	switch decl := n.Pipe.Decl; len(decl) {
	case 1:
		c.assign(decl[0].Ident[0], item)
	case 2:
		c.assign(decl[0].Ident[0], v.RangeKey())
		c.assign(decl[1].Ident[0], item)
	}
	left := c.left
	c.block(n.List, item, v.Never(), true) // most lists have items
	c.left = left
	after := c.vars
	c.vars = before
	if v.Never() { // what its body assigns never is
		after, c.vars, growing = slices.Clone(unchanged), unchanged, nil
	}
	c.block(n.ElseList, dot, false, v.Never())
	c.merge(after)
	c.vars = c.vars[:vars]
	c.grown(growing)
}

// ranges looks at what is ranged over.
func (c *checker) ranges(v *value.Value, n *parse.RangeNode) {
	const takes = schema.List | schema.Map | schema.Integer
	switch {
	case v.Kinds == 0 || v.Kinds == schema.Null:
	case v.Kinds&takes == 0:
		c.maybe(v.Kinds&schema.Null == 0, finding.RangeOver, c.at(n.Pipe), "range needs a list, a map or an integer; %s is %s", excerpt(n.Pipe), (v.Kinds &^ schema.Null).Words())
	case v.Kinds == schema.Integer && len(n.Pipe.Decl) > 1:
		c.errorf(finding.RangeOver, c.at(n.Pipe), "range over an integer yields one variable, not two")
	}
}

// maybe notes an error, or a warning where it is not sure to be one.
func (c *checker) maybe(sure bool, code finding.Code, at value.Place, format string, args ...any) {
	if sure {
		c.errorf(code, at, format, args...)
		return
	}
	c.warnf(code, at, format, args...)
}

// forget makes variables anything that a block assigns to: it may have run before. It returns which of them are lists to which it only
// appends, which grow.
func (c *checker) forget(l *parse.ListNode) (growing []int) {
	assigned := map[string]assignment{}
	c.assignments(l, assigned)
	for i, known := range c.vars {
		how := assigned[known.name]
		switch {
		case how == 0 || how == appends && known.v.Grows:
		case how == appends && known.v.Kinds == schema.List && c.innermost(i):
			v := &value.Value{Kinds: schema.List, Grows: true}
			if !known.v.Never() {
				v.Item = known.v.Each()
			}
			c.vars[i].v = v
			growing = append(growing, i)
		default:
			c.vars[i].v = value.Anything
		}
	}
	return growing
}

// innermost reports whether no variable of the same name hides that one.
func (c *checker) innermost(i int) bool {
	return !slices.ContainsFunc(c.vars[i+1:], func(v variable) bool { return v.name == c.vars[i].name })
}

// grown makes lists of variables that have grown in a loop, which is over.
func (c *checker) grown(growing []int) {
	for _, i := range growing {
		if v := c.vars[i].v; v.Grows {
			c.vars[i].v = value.ListOf(v.Item)
		}
	}
}

// assignment says how a block assigns to a variable: 0 = not at all.
type assignment int

const (
	appends assignment = 1 << iota // $x = append $x …
	sets
)

// assignments adds how a block assigns to variables, by their names.
func (c *checker) assignments(l *parse.ListNode, names map[string]assignment) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		c.step()
		if action, ok := n.(*parse.ActionNode); ok {
			assignedBy(action.Pipe, names)
		}
		if b := syntax.Branch(n); b != nil {
			assignedBy(b.Pipe, names)
			c.assignments(b.List, names)
			c.assignments(b.ElseList, names)
		}
	}
}

// assignedBy adds the variables that a pipeline assigns to, or one in parentheses in it.
func assignedBy(pipe *parse.PipeNode, names map[string]assignment) {
	for _, decl := range pipe.Decl {
		switch {
		case !pipe.IsAssign:
		case appendsTo(pipe, decl.Ident[0]):
			names[decl.Ident[0]] |= appends
		default:
			names[decl.Ident[0]] |= sets
		}
	}
	for _, cmd := range pipe.Cmds {
		for _, n := range cmd.Args {
			if chain, ok := n.(*parse.ChainNode); ok {
				n = chain.Node
			}
			if inner, ok := n.(*parse.PipeNode); ok {
				assignedBy(inner, names)
			}
		}
	}
}

// appendsTo reports whether a pipeline yields a variable with one more item.
func appendsTo(pipe *parse.PipeNode, name string) bool {
	first := pipe.Cmds[0].Args
	if len(pipe.Cmds) > 1 || len(first) != 3 {
		return false
	}
	function, _ := first[0].(*parse.IdentifierNode)
	v, _ := first[1].(*parse.VariableNode)
	return function != nil && v != nil && funcs.Named(function).Is(syntax.Appends) && len(v.Ident) == 1 && v.Ident[0] == name
}

// assign sets the innermost variable of that name.
func (c *checker) assign(name string, v *value.Value) {
	for i := len(c.vars) - 1; i >= 0; i-- {
		if c.vars[i].name == name {
			c.vars[i].v = v
			return
		}
	}
}

func excerpt(pipe *parse.PipeNode) string {
	bare := *pipe
	bare.Decl = nil
	return syntax.Excerpt(&bare)
}

// context is how a define block has been looked at: for which dot, whether it is reached, and how severe a finding could be.
type context struct {
	dot     *value.Value
	dead    bool
	gravest finding.Severity
}

// call looks through a define block with a dot, once for each kind of dot.
func (c *checker) call(name string, dot *value.Value) {
	def, ok := c.unit.Lookup(name)
	if !ok {
		return
	}
	const deep = 3
	c.called[def.Tree] = true
	contexts := c.seen[def.Tree]
	for _, known := range contexts {
		c.steps += 10 + len(dot.Keys)
		if known.dead == (c.dead > 0) && (known.gravest == finding.Error || known.gravest == c.gravest()) && known.dot.Same(dot, deep) {
			return
		}
	}
	if len(contexts) >= maxContexts || c.depth >= maxChain {
		c.partial[def.Text] = true
		return
	}
	c.seen[def.Tree] = append(contexts, context{dot, c.dead > 0, c.gravest()})
	vars, src, conditions, collecting := c.vars, c.src, c.conditions, c.collecting
	c.vars, c.src, c.collecting = []variable{{"$", dot}}, def.Text, 0
	c.depth++
	c.list(def.Tree.Root, dot)
	c.depth--
	c.vars, c.src, c.conditions, c.collecting = vars, src, conditions, collecting
}
