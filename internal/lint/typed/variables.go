package typed

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// variable is a variable in scope.
type variable struct {
	name string
	v    *types.Value
}

// variables are the variables in scope, innermost last.
type variables []variable

// find returns the index of the innermost variable with that name, or -1.
func (vars variables) find(name string) int {
	for i := len(vars) - 1; i >= 0; i-- {
		if vars[i].name == name {
			return i
		}
	}
	return -1
}

// assign sets the innermost variable with that name.
func (vars variables) assign(name string, v *types.Value) {
	if i := vars.find(name); i >= 0 {
		vars[i].v = v
	}
}

// assignment is how a block assigns to a variable: 0 = not at all.
type assignment int

const (
	appends assignment = 1 << iota // $x = append $x …
	sets
)

// merge joins the variables of two branches.
func (vars variables) merge(other variables) {
	for i := range vars {
		if vars[i].v != other[i].v {
			vars[i].v = types.Join(vars[i].v, other[i].v)
		}
	}
}

// forget resets variables that a block assigns to, because it may have run before. It returns those that are lists to which the block only
// appends.
func (vars variables) forget(assigned map[string]assignment) (growing []int) {
	for i, known := range vars {
		how := assigned[known.name]
		switch {
		case how == 0 || how == appends && known.v.Grows:
		case how == appends && known.v.Kinds == openapi.List && vars.find(known.name) == i:
			v := &types.Value{Kinds: openapi.List, Grows: true}
			if !known.v.Never() {
				v.Item = known.v.Each()
			}
			vars[i].v = v
			growing = append(growing, i)
		default:
			vars[i].v = types.Anything
		}
	}
	return growing
}

// grown finishes the list types of variables that grew in a loop.
func (vars variables) grown(growing []int) {
	for _, i := range growing {
		if v := vars[i].v; v.Grows {
			vars[i].v = types.ListOf(v.Item)
		}
	}
}

// assignments collects how a block assigns to variables, by name. It calls step for each node.
func assignments(l *parse.ListNode, names map[string]assignment, step func() bool) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		step()
		if action, ok := n.(*parse.ActionNode); ok {
			assignedBy(action.Pipe, names)
		}
		if b := syntax.Branch(n); b != nil {
			assignedBy(b.Pipe, names)
			assignments(b.List, names, step)
			assignments(b.ElseList, names, step)
		}
	}
}

// assignedBy collects the variables that a pipeline, or a nested one in parentheses, assigns to.
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

// appendsTo reports whether a pipeline appends an item to a variable.
func appendsTo(pipe *parse.PipeNode, name string) bool {
	first := pipe.Cmds[0].Args
	if len(pipe.Cmds) > 1 || len(first) != 3 {
		return false
	}
	v, _ := first[1].(*parse.VariableNode)
	return v != nil && funcs.Named(first[0]).Is(syntax.Appends) && len(v.Ident) == 1 && v.Ident[0] == name
}
