package typed

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// evaluator infers the results of expressions without data.
type evaluator struct {
	position
	unit *syntax.Unit
	vars variables
	// conditions are the steps that enclosing conditions test; collecting is set while a condition is evaluated.
	conditions []string
	facts
	collecting int
	labels     map[string]bool // steps to labels that selectors require: see labeled
	// include checks a define block for a value of dot. anyName records a call with a computed name.
	include func(name string, dot *types.Value)
	anyName bool
}

// pipe returns the value of a pipeline, and declares or assigns its variables.
func (e *evaluator) pipe(pipe *parse.PipeNode, dot *types.Value) *types.Value {
	var v *types.Value
	for _, cmd := range pipe.Cmds {
		if !e.notes.Step() {
			return types.Anything
		}
		v = e.command(cmd, dot, v)
	}
	for _, decl := range pipe.Decl {
		if pipe.IsAssign {
			e.vars.assign(decl.Ident[0], v)
		} else {
			e.vars = append(e.vars, variable{decl.Ident[0], v})
		}
	}
	return v
}

// command returns the value of a stage of a pipeline; final is the result of the previous stage, nil in the first one.
func (e *evaluator) command(cmd *parse.CommandNode, dot, final *types.Value) *types.Value {
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return e.function(name, cmd.Args[1:], dot, final)
	}
	return e.operand(cmd.Args[0], dot)
}

// operand returns the value of an argument.
func (e *evaluator) operand(n parse.Node, dot *types.Value) *types.Value {
	if !e.notes.Step() {
		return types.Anything
	}
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		return types.Missing
	case *parse.FieldNode:
		return e.path(dot, n.Ident, syntax.Start(n))
	case *parse.VariableNode:
		return e.path(e.variable(n.Ident[0]), n.Ident[1:], syntax.Start(n)+len(n.Ident[0]))
	case *parse.ChainNode:
		return e.path(e.operand(n.Node, dot), n.Field, int(n.Pos))
	case *parse.PipeNode:
		return e.pipe(n, dot)
	case *parse.IdentifierNode:
		return e.function(n, nil, dot, nil)
	case *parse.BoolNode:
		return types.Literal(n.True)
	case *parse.StringNode:
		return types.Literal(n.Text)
	case *parse.NumberNode:
		return types.Literal(syntax.Constant(n))
	}
	return types.Anything
}

// path evaluates a chain of fields such as .a.b that begins at an offset.
func (e *evaluator) path(v *types.Value, keys []string, offset int) *types.Value {
	for _, key := range keys {
		if !e.notes.Step() {
			return types.Anything
		}
		v = e.field(v, key, types.Place{Text: e.src, Offset: offset + 1, Length: len(key)})
		offset += 1 + len(key)
	}
	return v
}

func (e *evaluator) variable(name string) *types.Value {
	i := e.vars.find(name)
	if i < 0 {
		return types.Anything
	}
	e.notes.Steps += (len(e.vars) - i) / 16
	return e.vars[i].v
}

// invocation is a call of a function: its arguments, and their nodes.
type invocation struct {
	name  *parse.IdentifierNode
	args  []*types.Value
	nodes []parse.Node // without the piped argument
}

// node returns the node of argument i, or the name of the function if the argument is piped.
func (call *invocation) node(i int) parse.Node {
	if i < len(call.nodes) {
		return call.nodes[i]
	}
	return call.name
}

// text returns argument i if it is a string literal.
func (call *invocation) text(i int) (string, bool) {
	if i >= len(call.args) {
		return "", false
	}
	s, ok := call.args[i].Literal.(string)
	return s, ok
}

// argumentAt returns the place of a key that argument i names.
func (e *evaluator) argumentAt(call *invocation, i int, key string) types.Place {
	if s, ok := call.node(i).(*parse.StringNode); ok {
		return e.inString(s, key)
	}
	return e.at(call.node(i))
}

// function returns the result of a function call.
func (e *evaluator) function(name *parse.IdentifierNode, nodes []parse.Node, dot, final *types.Value) *types.Value {
	call := &invocation{name: name, nodes: nodes}
	if name.Ident == "and" || name.Ident == "or" {
		return e.lazy(call, dot, final)
	}
	s := types.SignatureOf(name.Ident)
	tests := s != nil && s.Is(syntax.Asks)
	if tests {
		e.collecting++
	}
	collecting := e.collecting
	for i, n := range nodes {
		if e.collecting = collecting; s != nil && !s.Param(i).Nil {
			e.collecting = 0 // it must exist, so this does not test it
		}
		call.args = append(call.args, e.operand(n, dot))
	}
	e.collecting = collecting
	if tests {
		e.collecting--
	}
	if e.notes.Ended() {
		return types.Anything
	}
	if final != nil {
		call.args = append(call.args, final)
	}
	if s == nil {
		return types.Anything
	}
	if !e.arguments(call, s) {
		return s.Yield()
	}
	e.swapped(call)
	if special := results[s.Same]; special != nil {
		return special(e, call)
	}
	return s.Yield()
}

// lazy returns the result of and and or. They do not evaluate arguments after the deciding one.
func (e *evaluator) lazy(call *invocation, dot, final *types.Value) *types.Value {
	and := call.name.Ident == "and"
	var v *types.Value
	var tests types.Tests
	before, known := e.reach, e.facts
	for _, n := range call.nodes {
		e.collecting++
		w := e.operand(n, dot)
		e.collecting--
		v = decide(and, v, w)
		yes, no := w.Outcomes()
		all, each := &tests.Yes, yes
		if !and {
			all, each = &tests.No, no
		}
		all.Has, all.Lacks = add(all.Has, each.Has), add(all.Lacks, each.Lacks)
		e.learn(each)
		switch never, always := w.Never(), w.Always(); {
		case and && never, !and && always:
			e.dead++
		case !never && !always:
			e.unsure++
		}
	}
	e.dead, e.unsure = before.dead, before.unsure
	e.unlearn(known)
	if final != nil {
		v = decide(and, v, final)
	}
	if v == nil {
		return types.Anything
	}
	w := *v
	w.Tests = &tests
	return &w
}

// decide returns the result of and or or for two arguments.
func decide(and bool, v, next *types.Value) *types.Value {
	switch {
	case v == nil:
		return next
	case and && v.Never(), !and && v.Always():
		return v
	case and && v.Always(), !and && v.Never():
		return next
	case and:
		return types.Join(v, next)
	}
	return types.Join(v.Present(), next)
}
