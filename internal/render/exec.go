package render

import (
	"errors"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// exec is one execution of a template. It is used by one goroutine, and reused through a pool. It has a method for each kind of node,
// like the state of text/template, and for what these have in common.
type exec struct {
	data.Execution
	own     budget.Budget // if the reconciliation has none
	program *Program
	unit    *unit
	in      *Input
	view    data.View
	src     *syntax.Text // the text of the current template
	vars    []variable
	args    []any // stack of function arguments
	out     *output
	depth   int // of template calls
	// suspects are the actions whose marks are in the output.
	suspects []suspect
	origin   origin // of the last value that was evaluated
	// locations is empty until a value is missing.
	locations locations
	place     parse.Node
	included  included // nil unless Input.Place is set
}

type variable struct {
	name   string
	value  any
	origin origin // if it has no value
}

// Errors by which break and continue leave the body of their range.
var (
	errBreak    = errors.New("break")
	errContinue = errors.New("continue")
)

// walk executes a node.
func (x *exec) walk(dot any, node parse.Node) error {
	if err := x.Charge(budget.CostStep); err != nil {
		return x.located(err, node)
	}
	switch n := node.(type) {
	case *parse.ListNode:
		return x.walkList(dot, n)
	case *parse.TextNode:
		return x.located(x.out.text(x, n), n)
	case *parse.ActionNode:
		return x.walkAction(dot, n)
	case *parse.IfNode:
		return x.walkIf(dot, &n.BranchNode)
	case *parse.WithNode:
		return x.walkIf(dot, &n.BranchNode)
	case *parse.RangeNode:
		return x.walkRange(dot, n)
	case *parse.TemplateNode:
		return x.walkTemplate(dot, n)
	case *parse.BreakNode:
		return errBreak
	case *parse.ContinueNode:
		return errContinue
	case *parse.CommentNode:
		return nil
	}
	return x.failf(node, "unsupported action")
}

func (x *exec) walkList(dot any, list *parse.ListNode) error {
	for _, n := range list.Nodes {
		if err := x.walk(dot, n); err != nil {
			return err
		}
	}
	return nil
}

// walkAction prints the value of a pipeline that declares no variables. Declared variables exist until the end of the enclosing block.
func (x *exec) walkAction(dot any, n *parse.ActionNode) error {
	v, err := x.pipeline(dot, n.Pipe)
	if err != nil && x.leavesOut(err) {
		return x.printNothing(n)
	}
	if err != nil || len(n.Pipe.Decl) > 0 {
		return err
	}
	if v == nil {
		place := n.Pipe.Cmds[0]
		err := x.orWaitFor(x.origin, place, x.failf(place, "%s has no value; set it, or use default, required or if", syntax.Excerpt(n.Pipe)))
		if x.leavesOut(err) {
			return x.printNothing(n)
		}
		return err
	}
	return x.located(x.out.value(x, v, n), n)
}

// walkIf executes an if or a with, which differ in the value of dot in the body.
func (x *exec) walkIf(dot any, n *parse.BranchNode) error {
	mark := len(x.vars)
	defer x.pop(mark)
	v, err := x.optional(dot, n.Pipe)
	if err != nil {
		return err
	}
	switch {
	case !data.Truth(v, &x.Table):
		if n.ElseList == nil {
			return nil
		}
		return x.walk(dot, n.ElseList)
	case n.NodeType == parse.NodeWith:
		return x.walk(v, n.List)
	}
	return x.walk(dot, n.List)
}

// pop removes the variables declared since mark.
func (x *exec) pop(mark int) {
	clear(x.vars[mark:])
	x.vars = x.vars[:mark]
}

// walkRange executes the body once per item of a list, per entry of a map in the order of its keys, or per number below an integer.
func (x *exec) walkRange(dot any, n *parse.RangeNode) error {
	mark := len(x.vars)
	defer x.pop(mark)
	v, err := x.optional(dot, n.Pipe)
	if err != nil {
		return err
	}
	ran, err := x.iterate(n, v)
	if err != nil || ran || n.ElseList == nil {
		return err
	}
	// In the else branch, the variables of the range are empty. The parser rejects break and continue there unless another range
	// encloses this one: they belong to that range.
	if err = x.walk(dot, n.ElseList); errors.Is(err, errBreak) {
		return nil
	}
	return err
}

func (x *exec) iterate(n *parse.RangeNode, v any) (ran bool, err error) {
	switch v := v.(type) {
	case nil:
		return false, nil
	case []any:
		return x.iterateList(n, v)
	case map[string]any:
		return x.iterateMap(n, v)
	case *data.Closed:
		m, err := v.All()
		if err != nil {
			return false, x.located(err, n.Pipe)
		}
		return x.iterateMap(n, m)
	case int64:
		return x.iterateInt(n, v)
	}
	return false, x.failf(n.Pipe, "range needs a list, a map or an integer; %s is %s", syntax.Excerpt(n.Pipe), token.KindOf(v))
}

func (x *exec) iterateList(n *parse.RangeNode, list []any) (bool, error) {
	for i, item := range list {
		item, err := data.Normal(item)
		if err != nil {
			return true, x.located(err, n.Pipe)
		}
		if stop, err := x.iteration(n, int64(i), item); stop {
			return true, err
		}
	}
	return len(list) > 0, nil
}

func (x *exec) iterateMap(n *parse.RangeNode, m map[string]any) (bool, error) {
	keys, err := data.Keys(m, &x.Meter)
	if err != nil {
		return false, x.located(err, n.Pipe)
	}
	for _, key := range keys {
		item, err := data.Normal(m[key])
		if err != nil {
			return true, x.located(err, n.Pipe)
		}
		if stop, err := x.iteration(n, key, item); stop {
			return true, err
		}
	}
	return len(m) > 0, nil
}

func (x *exec) iterateInt(n *parse.RangeNode, limit int64) (bool, error) {
	if len(n.Pipe.Decl) > 1 {
		return false, x.failf(n.Pipe, "range over an integer has one variable, not two")
	}
	for i := range limit {
		if stop, err := x.iteration(n, nil, i); stop {
			return true, err
		}
	}
	return limit > 0, nil
}

// iteration executes the body of a range once. It reports whether the loop has ended, by break or an error.
func (x *exec) iteration(n *parse.RangeNode, key, item any) (stop bool, err error) {
	mark := len(x.vars)
	switch decl := n.Pipe.Decl; {
	case len(decl) == 1:
		x.assign(decl[0].Ident[0], item)
	case len(decl) == 2:
		x.assign(decl[0].Ident[0], key)
		x.assign(decl[1].Ident[0], item)
	}
	err = x.walk(item, n.List)
	x.pop(mark)
	switch {
	case err == nil || errors.Is(err, errContinue):
		return false, nil
	case errors.Is(err, errBreak):
		return true, nil
	}
	return true, err
}

// assign sets the innermost variable of this name.
func (x *exec) assign(name string, value any) {
	for i := len(x.vars) - 1; i >= 0; i-- {
		if x.vars[i].name == name {
			x.vars[i].value, x.vars[i].origin = value, x.origin
			return
		}
	}
}

// walkTemplate writes the output of another template.
func (x *exec) walkTemplate(dot any, n *parse.TemplateNode) error {
	var v any
	if n.Pipe != nil {
		var err error
		if v, err = x.pipeline(dot, n.Pipe); err != nil {
			return err
		}
	}
	from := len(x.out.buf)
	if err := x.invoke(n.Name, v); err != nil {
		return x.located(err, n)
	}
	return x.located(x.out.suspect(x, from, n), n)
}

// invoke executes the template of this name with its own variables.
func (x *exec) invoke(name string, dot any) error {
	def, ok := x.unit.Lookup(name)
	if !ok {
		return errors.New("no define block of that name")
	}
	if x.depth == maxIncludes {
		return errIncludes
	}
	src, mark := x.src, len(x.vars)
	x.src, x.depth = def.Text, x.depth+1
	// The variables of the caller can stay on the stack, because the parser ensures that a template only uses its own.
	x.vars = append(x.vars, variable{name: "$", value: dot})
	err := x.walk(dot, def.Tree.Root)
	x.pop(mark)
	x.src, x.depth = src, x.depth-1
	return err
}
