package outline

import (
	"bytes"
	"strconv"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// value compares what one action prints, where it is all of a value, with the type that is expected there.
func (at *docCheck) value(n *yaml.Node, t *schema.Type, path string) {
	if n.Kind != yaml.ScalarNode || n.Style&^yaml.FlowStyle != 0 || !OnlyPrinted(n.Value) {
		return
	}
	here := at.place(n)
	kinds, first, found := schema.Kinds(0), 0, 0
	for offset := here.Offset; offset < here.End(); offset++ {
		if of, prints := at.c.printedAt(here.Text, offset); prints {
			kinds, first = of, offset
			found++
		}
	}
	if found != 1 || kinds == 0 || kinds == schema.Null {
		return
	}
	if got := kinds.Classes(); t.Kinds.Classes()&got == 0 {
		here.Offset, here.Length = first, here.Length-(first-here.Offset)
		at.c.Warn(finding.FieldType, here, "%s of %s is %s, and what is printed here is %s%s", path, at.object, (t.Kinds &^ schema.Null).Words(), got.Words(), asText(t.Kinds, got))
	}
}

// joined notes a value that is put together of what an action prints and of text, which is text, where none is expected.
func (at *docCheck) joined(n *yaml.Node, t *schema.Type, path string) {
	if t.Kinds&schema.String != 0 || n.Kind != yaml.ScalarNode || n.Style&^yaml.FlowStyle != 0 || !PrintedIn(n.Value) || OnlyPrinted(n.Value) {
		return
	}
	here := at.place(n)
	for _, action := range at.s.Joined(here.Offset, here.End()) {
		kinds, _ := at.c.printedAt(here.Text, action)
		if kinds&^schema.Null == 0 || kinds&^(schema.String|schema.Integer|schema.Number|schema.Null) != 0 {
			continue // lines of YAML may be printed, which are as the author has written them
		}
		hint := ""
		if t.Kinds&(schema.Integer|schema.Number) != 0 {
			hint = ": compute it, such as with add or mul"
		}
		at.c.Warn(finding.FieldType, here, "%s of %s is %s, and what is put together of actions and text is text%s", path, at.object, (t.Kinds &^ schema.Null).Words(), hint)
		return
	}
}

// printedAt returns what kinds of values an action prints whose pipeline begins at an offset: false if none does, and 0 if that is not known.
// What functions make of YAML and JSON is text that stands for something else, so that 0 is said of it.
func (c *checker) printedAt(text *syntax.Text, offset int) (kinds schema.Kinds, prints bool) {
	v := c.Printed[types.Spot{Text: text, Offset: offset}]
	if v == nil {
		return 0, false
	}
	if v.Kinds&schema.String != 0 && v.Origin == nil && v.Literal == nil {
		return 0, true
	}
	return v.Kinds, true
}

// printsValue reports whether a node of a template prints values and none of the author's text, and whether that is certain if no branch
// or loop is around it.
func (c *checker) printsValue(u *syntax.Unit, n parse.Node) (prints, certain bool) {
	p := values{c: c, unit: u, certain: true}
	return p.node(u.Text, n, 0), p.certain
}

// values follows what a node prints into the define blocks that it calls.
type values struct {
	c       *checker
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
	return p.c.isValue(text, n)
}

func (p *values) call(name string, depth int) bool {
	def, ok := p.unit.Lookup(name)
	return ok && depth < types.MaxChain && p.c.Step() && p.list(def.Text, def.Tree.Root, depth+1)
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

// isValue reports whether an action of a template prints one value.
func (c *checker) isValue(text *syntax.Text, n *parse.ActionNode) bool {
	v := c.Printed[types.Spot{Text: text, Offset: int(n.Pipe.Pos)}]
	p := printedByPipe(n.Pipe)
	return p >= one || p == anything && v != nil && v.Origin != nil && v.Origin.Source != types.FromTemplate
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
