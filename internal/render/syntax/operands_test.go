package syntax

import (
	"strings"
	"testing"
	"text/template/parse"
)

func TestOperandsAreCounted(t *testing.T) {
	for text, want := range map[string]int{
		"":                               0,
		"apiVersion: v1\nkind: {a: b}\n": 0,
		"{{1}}":                          3,
		"{{ .a }}{{ .a.b }}":             7,
		"a{{- $x := .a -}}b":             6,
		`{{ print "}} {{ a b c" }}`:      4,
		"{{ print `}} \\` 'a' }}":        5,
		"{{/* }} a b c */}}{{1}}":        5,
		"{{- /* a */ -}}":                2,
		"{{ (print 1 | quote) }}":        7,
		"{{ and .a .a .a .a":             7,
		"{{":                             2,
		"{{ `":                           3,
		`{{ "\`:                          3,
	} {
		t.Run(text, func(t *testing.T) {
			if got := Operands(text, "", ""); got != want {
				t.Errorf("%d operands, want %d", got, want)
			}
		})
	}
}

// FuzzOperands compares the count with what the parser finds: nobody hides operands from it.
func FuzzOperands(f *testing.F) {
	for _, text := range []string{
		"{{1}}", "{{ .a.b.c }}", "{{ $x := print 1 2 | quote }}", "{{ if .a }}x{{ else if .b }}y{{ else }}z{{ end }}", `{{ define "x" }}{{ . }}{{ end }}{{ template "x" . }}`,
		"{{ range $i, $e := .a }}{{ break }}{{ end }}", "{{- /* }} */ -}} {{ (print (1) `}}` '}' \"}}\").a }}", "{{ 1. 1 1 }}", "{{ -1.5e+3 0x1p-2 1+2i }}", "{{ nil }}{{ true }}", "{{ with $x := 1 -}} {{- end }}",
	} {
		for _, delimiters := range [][2]string{{"", ""}, {"[[", "]]"}, {"<", "."}, {"{{", "-"}, {"{{", "a"}, {"(", ")"}, {"{{", "|"}, {"<", "="}, {"{{", "\""}, {"-", "- "}} {
			left, right := delimiters[0], delimiters[1]
			if left == "" {
				f.Add(text, "", "")
				continue
			}
			f.Add(strings.NewReplacer("{{", left, "}}", right).Replace(text), left, right)
		}
	}
	f.Fuzz(func(t *testing.T, text, left, right string) {
		trees := map[string]*parse.Tree{}
		tree := parse.New("")
		tree.Mode = parse.SkipFuncCheck
		if _, err := tree.Parse(text, left, right, trees); err != nil || left == right && left != "" {
			return
		}
		found := 0
		for _, tree := range trees {
			found += nodesIn(tree.Root)
		}
		if got := Operands(text, left, right); got < found {
			t.Errorf("%q with %q and %q has %d, but the parser finds %d", text, left, right, got, found)
		}
	})
}

// nodesIn counts what Operands counts, in what the parser has made of it.
func nodesIn(n parse.Node) int {
	found := 0
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, each := range n.Nodes {
				found += nodesIn(each)
			}
		}
	case *parse.TextNode, *parse.CommentNode:
	case *parse.ActionNode:
		found = 2 + pipeNodes(n.Pipe)
	case *parse.TemplateNode:
		found = 3 + pipeNodes(n.Pipe)
	case *parse.PipeNode: // in parentheses
		found = 1 + pipeNodes(n)
	case *parse.ChainNode:
		found = nodesIn(n.Node) + len(n.Field)
	case *parse.FieldNode:
		found = len(n.Ident)
	case *parse.VariableNode:
		found = len(n.Ident)
	case *parse.BreakNode, *parse.ContinueNode:
		found = 3
	default:
		branch := Branch(n)
		if branch == nil {
			return 1 // a literal, or a name
		}
		found = 4 + pipeNodes(branch.Pipe) + nodesIn(branch.List) + nodesIn(branch.ElseList) // with its end
	}
	return found
}

func pipeNodes(pipe *parse.PipeNode) int {
	if pipe == nil {
		return 0
	}
	found := len(pipe.Decl) + len(pipe.Cmds) - 1
	for _, cmd := range pipe.Cmds {
		for _, arg := range cmd.Args {
			found += nodesIn(arg)
		}
	}
	return found
}
