package syntax

import (
	"regexp"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// expression parses and checks an expression: the text between the delimiters of an action that prints a value.
func (c *compiler) expression(t *Text, helpers map[string]Definition, purpose Purpose) *Unit {
	t.lead = len(c.left()) + 1
	switch text := strings.TrimSpace(t.Content); {
	case text == "":
		c.add(&Error{Template: t.Name, Reason: Invalid, Code: finding.NoExpression, Message: "the expression is empty: remove the field, or write an expression such as " + sample})
		return nil
	case strings.HasPrefix(text, c.left()):
		c.add(t.broken(finding.NoExpression, t.lead, noExpression))
		return nil
	}
	found := len(c.errors)
	u := c.unit(t, helpers, purpose)
	if len(c.errors) == found && u.Expression() == nil {
		c.add(t.broken(finding.NoExpression, t.lead, noExpression))
	}
	return u
}

const (
	sample       = `eq .object.status.phase "Bound"`
	noExpression = "must be a single expression without delimiters, if, range or define, such as " + sample
)

// content returns the text to parse: an expression is enclosed in delimiters.
func (c *compiler) content(t *Text) string {
	if t.lead == 0 {
		return t.Content
	}
	return c.left() + " " + t.Content + " " + c.right()
}

// Expression returns the pipeline of a unit that is an expression, or nil.
func (u *Unit) Expression() *parse.PipeNode {
	body := u.own[""].Tree
	if body == nil || len(u.own) > 1 || len(body.Root.Nodes) != 1 {
		return nil
	}
	action, ok := body.Root.Nodes[0].(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 {
		return nil
	}
	return action.Pipe
}

// quoted matches the quote in an error of package parse.
var quoted = regexp.MustCompile(`"([^"\\]+)"|'([^'\\])'`)

// locateInExpression makes an error of package parse point at the text that it quotes, if this occurs once in the line, or else at the
// beginning of the line. For a line without text, it reports that something is missing at the end.
func (t *Text) locateInExpression(e *Error) {
	e.Message = strings.TrimSuffix(e.Message, mayBeOpen)
	for e.Line > 1 && strings.TrimSpace(t.Line(e.Line)) == "" {
		e.Line--
	}
	if e.Line == 0 {
		return
	}
	line := t.Line(e.Line)
	at := len(line) - len(strings.TrimLeft(line, " \t"))
	if m := quoted.FindStringSubmatch(e.Message); m != nil {
		if before, rest, found := strings.Cut(line, m[1]+m[2]); found && !strings.Contains(strings.TrimLeft(rest, m[1]+m[2]), m[1]+m[2]) {
			at = len(before)
		}
	}
	e.Column = utf8.RuneCountInString(line[:at]) + 1
}
