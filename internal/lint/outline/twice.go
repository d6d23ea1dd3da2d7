package outline

import (
	"regexp"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// keysTwice reports keys that a mapping always has twice.
func (at *docCheck) keysTwice(n *yaml.Node) {
	seen := map[string]bool{}
	for i, child := range n.Content {
		if !at.c.Step() {
			return
		}
		if n.Kind != yaml.MappingNode || i%2 > 0 {
			at.keysTwice(child)
			continue
		}
		if child.Kind != yaml.ScalarNode || PrintedIn(child.Value) || child.Tag == "!!merge" || !at.always(child) {
			continue
		}
		if seen[child.Value] {
			at.c.Fail(at.begins(), finding.NoYAML, at.place(child), "duplicate key %s: remove one of the two", child.Value)
		}
		seen[child.Value] = true
	}
}

// kindLine matches the kind of an object at the beginning of a line.
var kindLine = regexp.MustCompile(`(?m)^kind:`)

// unseparated reports loops that render an object in each iteration without a line between them.
func (c *checker) unseparated() {
	for _, u := range c.Units.Children {
		c.loops(u, u.Body())
	}
}

func (c *checker) loops(u *syntax.Unit, l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		b := syntax.Branch(n)
		if b == nil || !c.Step() {
			continue
		}
		if b.NodeType != parse.NodeRange {
			c.loops(u, b.List)
			c.loops(u, b.ElseList)
			continue
		}
		text, separated := textOf(b.List)
		if kindLine.MatchString(text) && !separated {
			at := types.Place{Text: u.Text, Offset: int(b.Pos), Length: len("range")}
			c.Warn(finding.NoYAML, at, "each iteration renders an object, but no line separates them: begin the loop with a line ---")
		}
	}
}

// textOf returns the literal text of a block, and whether it can contain a document marker.
func textOf(l *parse.ListNode) (text string, separated bool) {
	if l == nil {
		return "", false
	}
	var all strings.Builder
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			all.Write(n.Text)
		case *parse.TemplateNode:
			separated = true // it can be in the define block
		case *parse.ActionNode:
			separated = separated || strings.Contains(n.String(), "include")
		}
		if b := syntax.Branch(n); b != nil {
			then, one := textOf(b.List)
			other, two := textOf(b.ElseList)
			all.WriteString(then + other)
			separated = separated || one || two
		}
	}
	for line := range strings.Lines(all.String()) {
		separated = separated || document.BeginsDocument(line) || document.EndsDocument(line)
	}
	return all.String(), separated
}
