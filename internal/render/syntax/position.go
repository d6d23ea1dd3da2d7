package syntax

import (
	"sort"
	"strconv"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// Text is a template as written.
type Text struct {
	Name    string // as in Error.Template
	Content string
	starts  []int32 // offsets at which lines begin
	lead    int     // bytes before the content in the parsed text: see compiler.expression
}

// NewText returns a Text of this name.
func NewText(name, content string) *Text {
	// YAML does not count a byte order mark as a character of the line.
	content = strings.TrimPrefix(content, "\ufeff")
	starts := make([]int32, 1, strings.Count(content, "\n")+1)
	for i := range len(content) {
		if content[i] == '\n' {
			starts = append(starts, int32(i+1)) //nolint:gosec // texts are far shorter than 2 GiB
		}
	}
	return &Text{Name: name, Content: content, starts: starts}
}

// Position returns the line and column, counted from 1 and in characters, of an offset in the parsed text.
func (t *Text) Position(offset int) (line, column int) {
	offset = max(0, min(offset-t.lead, len(t.Content)))
	line = t.line(offset)
	return line, utf8.RuneCountInString(t.Content[t.starts[line-1]:offset]) + 1
}

// line returns the 1-based line of an offset in the content.
func (t *Text) line(offset int) int {
	return sort.Search(len(t.starts), func(i int) bool { return int(t.starts[i]) > offset })
}

// Offset returns the offset in the content of a 1-based line and column, in characters; its end if there is no such line.
func (t *Text) Offset(line, column int) int {
	if line < 1 || line > len(t.starts) {
		return len(t.Content)
	}
	at := int(t.starts[line-1])
	for ; column > 1 && at < len(t.Content); column-- {
		_, size := utf8.DecodeRuneInString(t.Content[at:])
		at += size
	}
	return at
}

// Line returns a line of the content without its end, from 1; "" if there is no such line.
func (t *Text) Line(n int) string {
	if n < 1 {
		return ""
	}
	line, _, _ := strings.Cut(t.Content[t.Offset(n, 1):], "\n")
	return strings.TrimSuffix(line, "\r")
}

// ErrorAt returns an Error that points at offset.
func (t *Text) ErrorAt(offset int, reason Reason, message string) *Error {
	line, column := t.Position(offset)
	return &Error{Template: t.Name, Line: line, Column: column, Reason: reason, Message: OneLine(message)}
}

// broken returns an Error about a rule that is violated at an offset.
func (t *Text) broken(code finding.Code, offset int, message string) *Error {
	e := t.ErrorAt(offset, Invalid, message)
	e.Code, e.Length = code, utf8.RuneCountInString(t.word(offset))
	return e
}

// definition returns the offset of the name of a define block whose content begins at an offset.
func (t *Text) definition(name string, content int) int {
	if at := strings.LastIndex(t.Content[:min(content, len(t.Content))], strconv.Quote(name)); at >= 0 {
		return at
	}
	return content
}

// word returns the text of the operand that begins at an offset in what is parsed: a literal, or else what has no space or
// parenthesis in it. It is on one line.
func (t *Text) word(offset int) string {
	rest := t.Content[max(0, min(offset-t.lead, len(t.Content))):]
	if literal, err := strconv.QuotedPrefix(rest); err == nil && !strings.Contains(literal, "\n") {
		return literal
	}
	if end := strings.IndexAny(rest, " \t\r\n()|},"); end >= 0 {
		return rest[:end]
	}
	return rest
}

// Constant returns the value of a number as written: a float64 if it looks like one, else an int64.
func Constant(n *parse.NumberNode) any {
	hex := strings.HasPrefix(strings.TrimLeft(strings.ToLower(n.Text), "+-"), "0x")
	if strings.ContainsAny(n.Text, ".eEpP") && !strings.HasPrefix(n.Text, "'") && (!hex || strings.ContainsAny(n.Text, "pP")) {
		return n.Float64
	}
	return n.Int64
}

// Start returns the offset at which a node begins. The parser reports the second field of .a.b and of $x.a as their position, and the
// dot as that of (f).a.
func Start(n parse.Node) int {
	pos := int(n.Position())
	switch n := n.(type) {
	case *parse.FieldNode:
		if len(n.Ident) > 1 {
			return pos - len(n.Ident[0]) - 1
		}
	case *parse.VariableNode:
		if len(n.Ident) > 1 {
			return pos - len(n.Ident[0])
		}
	case *parse.ChainNode:
		return Start(n.Node)
	}
	return pos
}

// Excerpt returns the text of a node, shortened to fit in a message.
func Excerpt(n parse.Node) string {
	const limit = 60
	s := strings.Join(strings.Fields(n.String()), " ")
	if len(s) <= limit {
		return s
	}
	return Cut(s, limit) + "…"
}

// Cut returns s up to byte n, without splitting a character.
func Cut(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Positions computes the positions of many offsets, like Text.Position. The cost depends on the distance to the previous offset in the
// same text, so that it is cheap to pass them in order. It is not safe for concurrent use.
type Positions map[*Text]position

type position struct{ offset, line, column int }

// Of returns the line and column, counted from 1 and in characters, of an offset in the parsed text of t.
func (p Positions) Of(t *Text, offset int) (line, column int) {
	offset = max(0, min(offset-t.lead, len(t.Content)))
	if offset < len(t.Content) && !utf8.RuneStart(t.Content[offset]) {
		return t.Position(offset + t.lead) // it is within a character
	}
	last, known := p[t]
	line = t.line(offset)
	switch {
	case !known || last.line != line:
		column = utf8.RuneCountInString(t.Content[t.starts[line-1]:offset]) + 1
	case offset >= last.offset:
		column = last.column + utf8.RuneCountInString(t.Content[last.offset:offset])
	default:
		column = last.column - utf8.RuneCountInString(t.Content[offset:last.offset])
	}
	p[t] = position{offset, line, column}
	return line, column
}
