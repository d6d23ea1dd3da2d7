package render

import (
	"sort"
	"strings"
	"text/template/parse"
	"unicode/utf8"
)

// text is a template as the author wrote it.
type text struct {
	name    string // as in Error.Template
	content string
	starts  []int // offsets at which lines begin
}

func newText(name, content string) *text {
	// YAML does not count a byte order mark as a character of the line.
	content = strings.TrimPrefix(content, "\ufeff")
	starts := []int{0}
	for i := range len(content) {
		if content[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return &text{name: name, content: content, starts: starts}
}

// position returns the 1-based line and column, in characters, of an offset.
func (t *text) position(offset int) (line, column int) {
	offset = max(0, min(offset, len(t.content)))
	line = sort.SearchInts(t.starts, offset+1)
	start := t.starts[line-1]
	return line, utf8.RuneCountInString(t.content[start:offset]) + 1
}

// errorAt returns an Error that points at offset.
func (t *text) errorAt(offset int, reason Reason, message string) *Error {
	line, column := t.position(offset)
	return &Error{Template: t.name, Line: line, Column: column, Reason: reason, Message: oneLine(message)}
}

// start returns the offset where the author's text of a node begins. The
// parser reports the second field of .a.b and of $x.a as their position, and
// the dot as that of (f).a.
func start(n parse.Node) int {
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
		return start(n.Node)
	}
	return pos
}

// excerpt returns a node's own text, shortened to fit in a message.
func excerpt(n parse.Node) string {
	const limit = 60
	s := strings.Join(strings.Fields(n.String()), " ")
	if len(s) <= limit {
		return s
	}
	cut := limit
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
