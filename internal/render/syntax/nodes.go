package syntax

import "text/template/parse"

// Branch returns what an if, a with or a range consists of, and nil for other nodes.
func Branch(n parse.Node) *parse.BranchNode {
	switch n := n.(type) {
	case *parse.IfNode:
		return &n.BranchNode
	case *parse.WithNode:
		return &n.BranchNode
	case *parse.RangeNode:
		return &n.BranchNode
	}
	return nil
}

// Ends reports whether a pipeline ends rendering, so that nothing is printed by it, and nothing behind it.
func Ends(pipe *parse.PipeNode) bool {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	name, isFunction := last.Args[0].(*parse.IdentifierNode)
	return isFunction && (name.Ident == "fail" || name.Ident == "wait")
}

// EachOperand calls do with each operand of a pipeline, functions among them.
func EachOperand(pipe *parse.PipeNode, do func(parse.Node)) {
	for _, cmd := range pipe.Cmds {
		for _, n := range cmd.Args {
			switch n := n.(type) {
			case *parse.PipeNode:
				EachOperand(n, do)
			case *parse.ChainNode:
				if inner, ok := n.Node.(*parse.PipeNode); ok {
					EachOperand(inner, do)
				}
			default:
				do(n)
			}
		}
	}
}
