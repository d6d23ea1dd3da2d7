package typed

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// variable is one of those that are declared around a place.
type variable struct {
	name string
	v    *types.Value
}

// variables are those that are declared around a place, and inner ones come last.
type variables []variable

// find returns where the innermost variable of a name is, or -1.
func (vars variables) find(name string) int {
	for i := len(vars) - 1; i >= 0; i-- {
		if vars[i].name == name {
			return i
		}
	}
	return -1
}

// assign sets the innermost variable of that name.
func (vars variables) assign(name string, v *types.Value) {
	if i := vars.find(name); i >= 0 {
		vars[i].v = v
	}
}

// assignment says how a block assigns to a variable: 0 = not at all.
type assignment int

const (
	appends assignment = 1 << iota // $x = append $x …
	sets
)

// merge makes variables what they are after one of two branches.
func (vars variables) merge(other variables) {
	for i := range vars {
		if vars[i].v != other[i].v {
			vars[i].v = types.Join(vars[i].v, other[i].v)
		}
	}
}

// forget makes variables anything that a block assigns to: it may have run before. It returns which of them are lists to which it only
// appends, which grow.
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

// grown makes lists of variables that have grown in a loop, which is over.
func (vars variables) grown(growing []int) {
	for _, i := range growing {
		if v := vars[i].v; v.Grows {
			vars[i].v = types.ListOf(v.Item)
		}
	}
}

// assignments adds how a block assigns to variables, by their names. It calls step for each node.
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
	v, _ := first[1].(*parse.VariableNode)
	return v != nil && funcs.Named(first[0]).Is(syntax.Appends) && len(v.Ident) == 1 && v.Ident[0] == name
}
