package outline

import (
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// plain reports unquoted strings that YAML versions read differently, which rendering rejects.
func (c *checker) plain() {
	for _, u := range c.documented() {
		s := c.Skeletons.Of(u)
		for _, d := range s.Documents {
			at := c.in(s, d)
			at.plain(d.Root, true)
		}
	}
}

// plain checks a node (a value or key) recursively.
func (at *docCheck) plain(n *yaml.Node, value bool) {
	if !at.c.Step() {
		return
	}
	switch n.Kind { //nolint:exhaustive // the target of an alias is checked anyway
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			at.plain(n.Content[i], false)
			at.plain(n.Content[i+1], true)
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			at.plain(item, true)
		}
	case yaml.ScalarNode:
		at.quoted(n)
		if !value || n.Style != 0 || PrintedIn(n.Value) {
			return
		}
		if err := document.CheckPlain(n.Value); err != nil {
			at.c.Warn(finding.PlainText, at.place(n), "%s", err)
		}
	}
}

// quoted reports an action in double quotes that prints quotes itself.
func (at *docCheck) quoted(n *yaml.Node) {
	if n.Style&yaml.DoubleQuotedStyle == 0 || !PrintedIn(n.Value) {
		return
	}
	place := at.place(n)
	for _, printed := range at.s.PrintsIn(place.Offset, place.End()) {
		action, ok := printed.(*parse.ActionNode)
		if !ok {
			continue
		}
		if last := funcs.Named(action.Pipe.Cmds[len(action.Pipe.Cmds)-1].Args[0]); last.Is(syntax.Encodes) && !last.Is(syntax.ManyLines) {
			at.c.Warn(finding.NoYAML, place, "%s", document.QuotesInQuotes)
			return
		}
	}
}
