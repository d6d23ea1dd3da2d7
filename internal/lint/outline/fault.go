package outline

import (
	"errors"
	"io"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// FirstFault returns the place and message of invalid YAML in the output of a template, or "". It checks the output that does not depend on data: up to
// the first branch, loop or action that can print more than one value. isValue reports whether an action prints one.
func (all *Skeletons) FirstFault(u *syntax.Unit, isValue func(*parse.ActionNode) bool) (offset int, why string) {
	text, origin, whole := known(u.Body(), isValue)
	if pause(all.Pause).ended() || len(text) > maxSkeleton || !spend(&all.begun, []byte(text)) {
		return 0, ""
	}
	rest := io.Reader(strings.NewReader(""))
	if !whole {
		text = text[:strings.LastIndexByte(text, '\n')+1]
		rest = unknown{}
	}
	loader, err := pause(all.Pause).loader(io.MultiReader(strings.NewReader(text), rest))
	for err == nil {
		err = loader.Load(&yaml.Node{})
	}
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok || load.Stage != yaml.ScannerStage && load.Stage != yaml.ParserStage && load.Stage != yaml.ComposerStage {
		return 0, ""
	}
	printed := syntax.NewText(u.Text.Name, text)
	inTemplate := func(line int) string {
		line, _ = u.Text.Position(origin[printed.Offset(line, 1)])
		return document.QuoteLine(u.Text.Line(line))
	}
	fault := document.Explain(load, document.Lines{Line: printed.Line, Name: inTemplate})
	fault.What = "YAML: " + fault.What
	return origin[printed.Offset(fault.Line, fault.Column)], fault.String()
}

// known returns the output of nodes up to the first unknown one, with a letter for each value, and the template offset
// of each byte and of the end. whole is whether all of them are known.
func known(l *parse.ListNode, isValue func(*parse.ActionNode) bool) (text string, origin []int, whole bool) {
	var out strings.Builder
	end := 0
	for _, n := range l.Nodes {
		action, _ := n.(*parse.ActionNode)
		switch own, isText := n.(*parse.TextNode); {
		case isText:
			for i := range own.Text {
				origin = append(origin, int(own.Pos)+i)
			}
			end = int(own.Pos) + len(own.Text)
			out.Write(own.Text)
		case action == nil && n.Type() != parse.NodeComment, action != nil && len(action.Pipe.Decl) == 0 && !syntax.Ends(action.Pipe) && !isValue(action):
			return out.String(), append(origin, end), false
		case action != nil && len(action.Pipe.Decl) == 0 && !syntax.Ends(action.Pipe):
			out.WriteByte('x')
			origin = append(origin, int(action.Pos))
		}
	}
	return out.String(), append(origin, end), true
}

// unknown replaces unknown text.
type unknown struct{}

func (unknown) Read([]byte) (int, error) { return 0, errors.New("the text that follows is unknown") }
