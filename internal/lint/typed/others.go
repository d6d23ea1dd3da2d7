package typed

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// ofOthers notes a readyWhen that reads something, but not the object that it judges.
func (c *checker) ofOthers(pipe *parse.PipeNode) {
	var first *parse.FieldNode // of the parent
	whole := false             // the object is read, or all there is
	syntax.EachOperand(pipe, func(n parse.Node) {
		switch n := n.(type) {
		case *parse.FieldNode:
			whole = whole || n.Ident[0] == "object"
			if first == nil {
				first = n
			}
		case *parse.DotNode, *parse.VariableNode, *parse.ChainNode:
			whole = true
		}
	})
	if whole || first == nil {
		return
	}
	const text = "does not look at .object, so that it says the same of all objects of this entry"
	switch first.Ident[0] {
	case "status", "metadata", "spec":
		n := c.warnf(finding.ReadyOfOthers, c.at(first), "%s is of the parent, and readyWhen "+text+"; did you mean .object%s?", first, first)
		n.Replacement = ".object" + first.String()
	default:
		c.warnf(finding.ReadyOfOthers, c.at(pipe), "readyWhen "+text)
	}
}
