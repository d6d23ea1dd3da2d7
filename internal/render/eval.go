package render

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// absent means that a pipeline passes no value, because nil is a value.
type absent struct{}

// pipeline returns the value of a pipeline, and declares or assigns its variables.
func (x *exec) pipeline(dot any, pipe *parse.PipeNode) (any, error) {
	var value any = absent{}
	for _, cmd := range pipe.Cmds {
		var err error
		if value, err = x.command(dot, cmd, value); err == nil {
			continue
		}
		if len(pipe.Decl) == 0 || !x.leavesOut(err) {
			return nil, err
		}
		value = nil
		break
	}
	for _, decl := range pipe.Decl {
		if pipe.IsAssign {
			x.assign(decl.Ident[0], value)
		} else {
			x.vars = append(x.vars, variable{decl.Ident[0], value, x.origin})
		}
	}
	return value, nil
}

// command returns the value of one command of a pipeline; final is the value of the previous command. Only functions have arguments:
// Compile ensures this.
func (x *exec) command(dot any, cmd *parse.CommandNode, final any) (any, error) {
	if err := x.Charge(budget.CostStep); err != nil {
		return nil, x.located(err, cmd)
	}
	if name, ok := cmd.Args[0].(*parse.IdentifierNode); ok {
		return x.function(dot, name, cmd.Args[1:], final)
	}
	return x.operand(dot, cmd.Args[0])
}

// operand returns the value of an argument, or of a command that is not a
// function call.
func (x *exec) operand(dot any, node parse.Node) (any, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot, nil
	case *parse.NilNode:
		return nil, nil
	case *parse.FieldNode:
		return x.fields(n, dot, n.Ident)
	case *parse.VariableNode:
		v, from := x.variable(n.Ident[0])
		x.origin = from
		return x.fields(n, v, n.Ident[1:])
	case *parse.ChainNode:
		v, err := x.operand(dot, n.Node)
		if err != nil {
			return nil, err
		}
		return x.fields(n, v, n.Field)
	case *parse.PipeNode:
		return x.pipeline(dot, n)
	case *parse.IdentifierNode:
		return x.function(dot, n, nil, absent{})
	case *parse.BoolNode:
		return n.True, nil
	case *parse.StringNode:
		return n.Text, nil
	case *parse.NumberNode:
		return syntax.Constant(n), nil
	}
	return nil, x.failf(node, "unsupported operand")
}

// fields follows a path from v. The value of a missing key, and of everything below it, is nil.
func (x *exec) fields(n parse.Node, v any, path []string) (any, error) {
	if err := x.Charge(costField * len(path)); err != nil {
		return nil, x.located(err, n)
	}
	for i, key := range path {
		switch in := v.(type) {
		case map[string]any:
			x.origin = origin{in: in, path: path[i:]}
		case *data.Closed:
			x.origin = origin{list: in.Prefix, path: path[i:]}
		case nil: // origin already says where it is missing
		default:
			x.origin = origin{}
		}
		var err error
		if v, err = data.Field(v, key); err != nil {
			return nil, x.located(err, n)
		}
	}
	return v, nil
}

// variable returns the value of the innermost variable of this name, and its origin. The parser ensures that it exists.
func (x *exec) variable(name string) (any, origin) {
	for i := len(x.vars) - 1; i >= 0; i-- {
		if x.vars[i].name == name {
			_ = x.Charge((len(x.vars) - i) / 2) // if this fails, so does the next step
			return x.vars[i].value, x.vars[i].origin
		}
	}
	return nil, origin{}
}

// function calls a function. The arguments are on the stack of the exec, so that a call allocates nothing; functions must not retain
// the slice.
func (x *exec) function(dot any, name *parse.IdentifierNode, nodes []parse.Node, final any) (any, error) {
	if err := x.Charge(budget.CostItem * len(nodes)); err != nil {
		return nil, x.located(err, name)
	}
	f, piped := funcs.Lookup(name.Ident), x.origin
	if f.Do == nil && name.Ident != "include" {
		return x.firstThat(name.Ident == "or", dot, nodes, final)
	}
	mark := len(x.args)
	var seen origins
	for _, n := range nodes {
		x.origin = origin{}
		v, err := x.operand(dot, n)
		if err != nil {
			return nil, err
		}
		seen.note(len(x.args)-mark, v, x.origin)
		x.args = append(x.args, v)
	}
	if _, none := final.(absent); !none {
		seen.note(len(x.args)-mark, final, piped)
		x.args = append(x.args, final)
	}
	x.place = name
	args := x.args[mark:len(x.args):len(x.args)]
	v, err := x.call(f, args, nodes)
	if err == nil {
		x.origin = lookedUp(name.Ident, v, args, nodes, seen.first)
	}
	clear(x.args[mark:])
	x.args = x.args[:mark]
	if err != nil && seen.lacks && !f.Nil {
		x.origin = seen.lacking
		err = x.orWaitFor(seen.lacking, name, err)
	}
	return v, x.located(err, name)
}

// call calls f. Nodes are the arguments as written, without the final one of a pipeline.
func (x *exec) call(f *data.Function, args []any, nodes []parse.Node) (any, error) {
	if f.Do == nil {
		return x.include(f, args, nodes)
	}
	return f.Call(&x.Execution, args, nodes)
}

// firstThat implements and, or: it returns the first argument with the wanted truth value, or else the last one. It stops evaluating
// arguments once the result is known.
func (x *exec) firstThat(wanted bool, dot any, nodes []parse.Node, final any) (v any, err error) {
	for _, n := range nodes {
		x.origin = origin{}
		if v, err = x.operand(dot, n); err != nil || data.Truth(v, &x.Table) == wanted {
			return v, err
		}
	}
	if _, none := final.(absent); !none {
		return final, nil
	}
	return v, nil
}
