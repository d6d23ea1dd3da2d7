package outline

import (
	"slices"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
)

// value compares the output of an action that is a whole value with the expected type.
func (at *docCheck) value(n *yaml.Node, t *openapi.Type, path string) {
	if n.Kind != yaml.ScalarNode || n.Style&^yaml.FlowStyle != 0 || !OnlyPrinted(n.Value) {
		return
	}
	here := at.place(n)
	kinds, first, found := openapi.JSONTypes(0), 0, 0
	for offset := here.Offset; offset < here.End(); offset++ {
		if of, prints := at.c.Printed.Kinds(here.Text, offset); prints {
			kinds, first = of, offset
			found++
		}
	}
	if found == 1 && kinds == 0 && at.printsText(here.Offset, here.End()) {
		kinds = openapi.String
	}
	if found != 1 || kinds == 0 || kinds == openapi.Null {
		return
	}
	if got := kinds.Classes(); t.Kinds.Classes()&got == 0 {
		here.Offset, here.Length = first, here.Length-(first-here.Offset)
		at.c.Warn(finding.FieldType, here, "%s of %s is %s, but the printed value is %s%s", path, at.object, (t.Kinds &^ openapi.Null).Words(), got.Words(), asText(t.Kinds, got))
	}
}

// printsText reports whether the only action between two offsets prints a string, whatever its arguments.
func (at *docCheck) printsText(from, to int) bool {
	all := at.s.PrintsIn(from, to)
	if len(all) != 1 {
		return false
	}
	action, ok := all[0].(*parse.ActionNode)
	if !ok {
		return false
	}
	name, _ := action.Pipe.Cmds[len(action.Pipe.Cmds)-1].Args[0].(*parse.IdentifierNode)
	return name != nil && slices.Contains([]string{"quote", "squote", "toString", "printf"}, name.Ident)
}

// joined reports a value that combines an action with literal text, and so is a string, if no string is expected.
func (at *docCheck) joined(n *yaml.Node, t *openapi.Type, path string) {
	if t.Kinds&openapi.String != 0 || n.Kind != yaml.ScalarNode || n.Style&^yaml.FlowStyle != 0 || !PrintedIn(n.Value) || OnlyPrinted(n.Value) {
		return
	}
	here := at.place(n)
	for _, action := range at.s.Joined(here.Offset, here.End()) {
		kinds, _ := at.c.Printed.Kinds(here.Text, action)
		if kinds&^openapi.Null == 0 || kinds&^(openapi.String|openapi.Integer|openapi.Number|openapi.Null) != 0 {
			continue // the action can print lines of YAML
		}
		hint := ""
		if t.Kinds&(openapi.Integer|openapi.Number) != 0 {
			hint = ": compute it, for example with add or mul"
		}
		at.c.Warn(finding.FieldType, here, "%s of %s is %s, but a combination of actions and text is a string%s", path, at.object, (t.Kinds &^ openapi.Null).Words(), hint)
		return
	}
}
