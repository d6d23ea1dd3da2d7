package syntax

import (
	"iter"
	"strings"
	"text/template/parse"
)

// Has reports whether the text contains a word.
func (t *Text) Has(word string) bool { return standsIn(t.Content, word) }

// Words yields the words in the text, and the parts of each between dots, such as the keys of .spec.name.
func (t *Text) Words() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(t.Content); i++ {
			from := i
			for inWord(t.Content, i) {
				i++
			}
			if from < i && !yieldParts(t.Content[from:i], yield) {
				return
			}
		}
	}
}

func yieldParts(word string, yield func(string) bool) bool {
	if !yield(word) {
		return false
	}
	for part := range strings.SplitSeq(word, ".") {
		if part != "" && part != word && !yield(part) {
			return false
		}
	}
	return true
}

func standsIn(text, word string) bool {
	for from := 0; word != ""; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		at := from + i
		if !inWord(text, at-1) && !inWord(text, at+len(word)) {
			return true
		}
		from = at + 1
	}
	return false
}

// inWord reports whether the byte at this offset may belong to a longer key.
func inWord(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("_-./", c) >= 0
}

// Branch returns the parts of an if, with or range, and nil for other nodes.
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

// Ends reports whether a pipeline stops rendering, so that nothing is printed by it or after it.
func Ends(pipe *parse.PipeNode) bool {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	name, isFunction := last.Args[0].(*parse.IdentifierNode)
	return isFunction && (name.Ident == "fail" || name.Ident == "wait")
}

// EachOperand calls do with each operand of a pipeline, including functions.
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
