package types

import (
	"bytes"
	"strconv"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Printed are the values that actions of the templates themselves print, by where their pipelines begin.
type Printed map[Spot]*Value

// Kinds returns the kinds of values that the action at an offset prints, or 0 if they are unknown. prints is false if no pipeline begins there. It returns
// 0 for the results of functions such as toYaml and toJson: strings that represent another value.
func (all Printed) Kinds(text *syntax.Text, offset int) (kinds openapi.JSONTypes, prints bool) {
	v := all[Spot{Text: text, Offset: offset}]
	if v == nil {
		return 0, false
	}
	if v.Kinds&openapi.String != 0 && v.Origin == nil && v.Literal == nil {
		return 0, true
	}
	return v.Kinds, true
}

// OnlyValues reports whether a node of a template prints values and none of the author's text, and whether that is certain if no branch
// or loop is around it. It calls step for each define block, and stops if step returns false.
func (all Printed) OnlyValues(u *syntax.Unit, n parse.Node, step func() bool) (prints, certain bool) {
	p := values{all: all, step: step, unit: u, certain: true}
	return p.node(u.Text, n, 0), p.certain
}

// values follows what a node prints into the define blocks that it calls.
type values struct {
	all     Printed
	step    func() bool
	unit    *syntax.Unit
	certain bool
}

func (p *values) list(text *syntax.Text, l *parse.ListNode, depth int) bool {
	if l == nil {
		return true
	}
	for _, n := range l.Nodes {
		if !p.node(text, n, depth) {
			return false
		}
	}
	return true
}

func (p *values) node(text *syntax.Text, n parse.Node, depth int) bool {
	if b := syntax.Branch(n); b != nil {
		return p.list(text, b.List, depth) && p.list(text, b.ElseList, depth)
	}
	switch n := n.(type) {
	case *parse.TextNode:
		return len(bytes.TrimSpace(n.Text)) == 0
	case *parse.TemplateNode:
		return p.call(n.Name, depth)
	case *parse.ActionNode:
		if len(n.Pipe.Decl) > 0 || syntax.Ends(n.Pipe) {
			return true
		}
		if name, ok := included(n.Pipe); ok {
			return p.call(name, depth)
		}
		return p.action(text, n, depth)
	}
	return true
}

// action looks at an action that calls no define block. It is certain about fields of the root, which are data: variables and dicts can
// hold the author's text.
func (p *values) action(text *syntax.Text, n *parse.ActionNode, depth int) bool {
	syntax.EachOperand(n.Pipe, func(operand parse.Node) {
		switch operand := operand.(type) {
		case *parse.FieldNode:
			p.certain = p.certain && depth == 0
		case *parse.VariableNode:
			p.certain = p.certain && depth == 0 && operand.Ident[0] == "$"
		case *parse.DotNode, *parse.ChainNode:
			p.certain = false
		}
	})
	return p.all.IsValue(text, n)
}

func (p *values) call(name string, depth int) bool {
	def, ok := p.unit.Lookup(name)
	return ok && depth < MaxChain && p.step() && p.list(def.Text, def.Tree.Root, depth+1)
}

// included returns the name of the define block whose output an action prints.
func included(pipe *parse.PipeNode) (name string, ok bool) {
	args := pipe.Cmds[0].Args
	if f, isFunction := args[0].(*parse.IdentifierNode); !isFunction || f.Ident != "include" || len(args) < 2 {
		return "", false
	}
	text, ok := args[1].(*parse.StringNode)
	if !ok {
		return "", false
	}
	name, err := strconv.Unquote(text.Quoted)
	return name, err == nil
}

// printed is what an action prints, as far as that is known without data.
type printed int

const (
	lines printed = iota // any text
	// anything is one value or, where a variable or a dot holds what include or toYaml has made, any text.
	anything
	one    // a value of the data
	quoted // one between quotes
)

// IsValue reports whether an action of a template prints one value.
func (all Printed) IsValue(text *syntax.Text, n *parse.ActionNode) bool {
	v := all[Spot{Text: text, Offset: int(n.Pipe.Pos)}]
	p := printedByPipe(n.Pipe)
	return p >= one || p == anything && v != nil && v.Origin != nil && v.Origin.Source != FromTemplate
}

func printedByPipe(pipe *parse.PipeNode) printed {
	p := printedByCommand(pipe.Cmds[0])
	for _, cmd := range pipe.Cmds[1:] {
		p = printedByCommand(cmd, p)
	}
	return p
}

// printedByCommand returns what is printed of a stage of a pipeline, with that of the stage before.
func printedByCommand(cmd *parse.CommandNode, args ...printed) printed {
	name, ok := cmd.Args[0].(*parse.IdentifierNode)
	if !ok {
		return printedByOperand(cmd.Args[0])
	}
	for _, operand := range cmd.Args[1:] {
		args = append(args, printedByOperand(operand))
	}
	least := one
	for _, p := range args {
		if p == quoted {
			p = anything
		}
		least = min(least, p)
	}
	switch f := funcs.Named(name); {
	case f == nil, f.Is(syntax.ManyLines):
		return lines
	case f.Is(syntax.Quotes) && len(args) == 1:
		return quoted
	case f.Is(syntax.Quotes), f.Is(syntax.Encodes):
		return anything
	case f.Rendered == syntax.Keeps && least < one:
		return lines
	case f.Rendered == syntax.Passes:
		return least
	}
	return one
}

func printedByOperand(n parse.Node) printed {
	switch n := n.(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode, *parse.FieldNode: // of a dot that holds something else, nothing is certain
		return one
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return one
		}
	case *parse.PipeNode:
		return printedByPipe(n)
	case *parse.IdentifierNode:
		return printedByCommand(&parse.CommandNode{Args: []parse.Node{n}})
	}
	return anything
}
