package typed

import (
	"slices"
	"sync"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/lint/signature"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/schema"
)

// broken notes where templates print what is no YAML, whatever their data.
func (c *checker) broken() {
	var finder outline.Finder
	for _, u := range slices.Concat(c.units.Selects, c.units.Children, []*syntax.Unit{c.units.Status}) {
		if u == nil {
			continue
		}
		for _, f := range finder.Faults(u, func(n *parse.ActionNode) outline.Printed { return c.printedBy(u.Text, n.Pipe) }) {
			at := value.Place{Text: u.Text, Offset: f.Offset, Length: f.Length}
			c.maybe(f.Certain, finding.NoYAML, at, "%s", f.Message)
		}
	}
}

// printedBy returns what an action of a template prints.
func (c *checker) printedBy(text *syntax.Text, pipe *parse.PipeNode) outline.Printed {
	v := c.printed[value.Spot{Text: text, Offset: int(pipe.Pos)}]
	p := printedByPipe(pipe)
	if p == outline.Anything && v != nil && v.Origin != nil && v.Origin.Source != value.FromTemplate {
		p = outline.Value
	}
	if p == outline.Value && v != nil && v.Kinds != 0 && v.Kinds&^(value.Scalar|schema.Null) == 0 {
		p = outline.Scalar
	}
	return p
}

func printedByPipe(pipe *parse.PipeNode) outline.Printed {
	p := printedByCommand(pipe.Cmds[0], -1)
	for _, cmd := range pipe.Cmds[1:] {
		p = printedByCommand(cmd, p)
	}
	return p
}

// functions are those that templates can call.
var functions = sync.OnceValue(func() map[string]syntax.Function {
	all := map[string]syntax.Function{}
	for _, f := range funcs.All() {
		all[f.Name] = f
	}
	return all
})

// printedByCommand returns what is printed of a stage of a pipeline. before is that of the stage before, or -1.
func printedByCommand(cmd *parse.CommandNode, before outline.Printed) outline.Printed {
	name, ok := cmd.Args[0].(*parse.IdentifierNode)
	if !ok {
		return printedByOperand(cmd.Args[0])
	}
	n, least := len(cmd.Args)-1, outline.Scalar
	add := func(p outline.Printed) {
		if p > outline.Scalar {
			p = outline.Anything
		}
		least = min(least, p)
	}
	for _, operand := range cmd.Args[1:] {
		add(printedByOperand(operand))
	}
	if before >= 0 {
		n++
		add(before)
	}
	switch name.Ident {
	case "quote":
		return one(n, outline.DoubleQuoted)
	case "squote":
		return one(n, outline.SingleQuoted)
	case "include", "indent", "nindent", "toYaml", "toPrettyJson", "mustToPrettyJson":
		return outline.Lines
	case "toJson", "mustToJson", "toRawJson", "mustToRawJson":
		return outline.Anything
	}
	f, s := functions()[name.Ident], signature.Of(name.Ident)
	switch {
	case f.Rendered == syntax.Keeps && least < outline.Value, f.Name == "":
		return outline.Lines
	case f.Rendered == syntax.Keeps:
		return outline.Scalar
	case f.Rendered == syntax.Passes:
		return min(least, outline.Value)
	case s != nil && s.Result != 0 && s.Result&^schema.Kinds(value.Scalar) == 0:
		return outline.Scalar
	}
	return outline.Value
}

// one returns what is printed of one argument between quotes.
func one(arguments int, quoted outline.Printed) outline.Printed {
	if arguments == 1 {
		return quoted
	}
	return outline.Anything
}

func printedByOperand(n parse.Node) outline.Printed {
	switch n := n.(type) {
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return outline.Scalar
	case *parse.FieldNode:
		return outline.Value // where the dot holds something else, nothing is certain
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			return outline.Value
		}
	case *parse.PipeNode:
		return printedByPipe(n)
	case *parse.IdentifierNode:
		return printedByCommand(&parse.CommandNode{Args: []parse.Node{n}}, -1)
	}
	return outline.Anything
}
