package typed

import (
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/signature"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// pipe returns the value of a pipeline, and declares or assigns its variables.
func (c *checker) pipe(pipe *parse.PipeNode, dot *value.Value) *value.Value {
	var v *value.Value
	for _, cmd := range pipe.Cmds {
		if !c.step() {
			return value.Anything
		}
		v = c.command(cmd, dot, v)
	}
	for _, decl := range pipe.Decl {
		if pipe.IsAssign {
			c.assign(decl.Ident[0], v)
		} else {
			c.vars = append(c.vars, variable{decl.Ident[0], v})
		}
	}
	return v
}

// command returns the value of a stage of a pipeline; final is what the stage before yields, nil in the first one.
func (c *checker) command(cmd *parse.CommandNode, dot, final *value.Value) *value.Value {
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return c.function(name, cmd.Args[1:], dot, final)
	}
	return c.operand(cmd.Args[0], dot)
}

// operand returns the value of an argument.
func (c *checker) operand(n parse.Node, dot *value.Value) *value.Value {
	if !c.step() {
		return value.Anything
	}
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.NilNode:
		return value.Missing
	case *parse.FieldNode:
		return c.path(dot, n.Ident, syntax.Start(n))
	case *parse.VariableNode:
		return c.path(c.variable(n.Ident[0]), n.Ident[1:], syntax.Start(n)+len(n.Ident[0]))
	case *parse.ChainNode:
		return c.path(c.operand(n.Node, dot), n.Field, int(n.Pos))
	case *parse.PipeNode:
		return c.pipe(n, dot)
	case *parse.IdentifierNode:
		return c.function(n, nil, dot, nil)
	case *parse.BoolNode:
		return value.Literal(n.True)
	case *parse.StringNode:
		return value.Literal(n.Text)
	case *parse.NumberNode:
		return value.Literal(constant(n))
	}
	return value.Anything
}

// constant is the value of a number as the renderer has it.
func constant(n *parse.NumberNode) any {
	hex := strings.HasPrefix(strings.TrimLeft(strings.ToLower(n.Text), "+-"), "0x")
	if strings.ContainsAny(n.Text, ".eEpP") && !strings.HasPrefix(n.Text, "'") && (!hex || strings.ContainsAny(n.Text, "pP")) {
		return n.Float64
	}
	return n.Int64
}

// path follows keys that are written with dots and begin at an offset.
func (c *checker) path(v *value.Value, keys []string, offset int) *value.Value {
	for _, key := range keys {
		if !c.step() {
			return value.Anything
		}
		v = c.field(v, key, value.Place{Text: c.src, Offset: offset + 1, Length: len(key)})
		offset += 1 + len(key)
	}
	return v
}

func (c *checker) variable(name string) *value.Value {
	for i, known := range slices.Backward(c.vars) {
		if known.name == name {
			c.steps += (len(c.vars) - i) / 16
			return known.v
		}
	}
	return value.Anything
}

// invocation is a call of a function: its arguments, and how they are written.
type invocation struct {
	name  *parse.IdentifierNode
	args  []*value.Value
	nodes []parse.Node // without what comes by the pipe
}

// node returns how argument i is written, or the name of the function where it comes by the pipe.
func (call *invocation) node(i int) parse.Node {
	if i < len(call.nodes) {
		return call.nodes[i]
	}
	return call.name
}

// text returns argument i where it is text that is written there.
func (call *invocation) text(i int) (string, bool) {
	if i >= len(call.args) {
		return "", false
	}
	s, ok := call.args[i].Literal.(string)
	return s, ok
}

// argumentAt returns the place of a key that argument i names.
func (c *checker) argumentAt(call *invocation, i int, key string) value.Place {
	if s, ok := call.node(i).(*parse.StringNode); ok {
		return c.inString(s, key)
	}
	return c.at(call.node(i))
}

// function returns what a function yields.
func (c *checker) function(name *parse.IdentifierNode, nodes []parse.Node, dot, final *value.Value) *value.Value {
	call := &invocation{name: name, nodes: nodes}
	if name.Ident == "and" || name.Ident == "or" {
		return c.lazy(call, dot, final)
	}
	s := signature.Of(name.Ident)
	tests := s != nil && s.Is(syntax.Asks)
	if tests {
		c.collecting++
	}
	for _, n := range nodes {
		call.args = append(call.args, c.operand(n, dot))
	}
	if tests {
		c.collecting--
	}
	if c.gaveUp {
		return value.Anything
	}
	if final != nil {
		call.args = append(call.args, final)
	}
	if s == nil {
		return value.Anything
	}
	if !c.arguments(call, s) {
		return s.Yield()
	}
	if special := results[s.Same]; special != nil {
		return special(c, call)
	}
	return s.Yield()
}

// lazy returns what and and or yield. What follows an argument that decides is not looked at by them.
func (c *checker) lazy(call *invocation, dot, final *value.Value) *value.Value {
	and := call.name.Ident == "and"
	var v *value.Value
	dead, unsure := c.dead, c.unsure
	for _, n := range call.nodes {
		c.collecting++
		w := c.operand(n, dot)
		c.collecting--
		v = c.decide(and, v, w)
		switch never, always := w.Never(), w.Always(); {
		case and && never, !and && always:
			c.dead++
		case !never && !always:
			c.unsure++
		}
	}
	c.dead, c.unsure = dead, unsure
	if final != nil {
		v = c.decide(and, v, final)
	}
	return v
}

// decide returns what and or or yields of two arguments.
func (c *checker) decide(and bool, v, next *value.Value) *value.Value {
	switch {
	case v == nil:
		return next
	case and && v.Never(), !and && v.Always():
		return v
	case and && v.Always(), !and && v.Never():
		return next
	case and:
		return value.Join(v, next)
	}
	return value.Join(v.Present(), next)
}
