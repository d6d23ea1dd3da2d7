package document

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Lines are those of a text that was to be read.
type Lines struct {
	// Line returns a line of it without its end, counted from 1; "" where there is none.
	Line func(n int) string
	// Name returns what to call a line, such as "line 3".
	Name func(n int) string
}

// Fault is where a text is no YAML, and why.
type Fault struct {
	// Line and Column are where to look, from 1, the column in characters: where quotes begin that never end, and not the end of the
	// text. 0 means not known.
	Line, Column int
	// What is wrong, in the words of the library.
	What string
	// Hint says what that mostly means, and what to do; "" means that nobody can tell.
	Hint string
}

// String returns the hint, and in parentheses the words of the library, by which one finds what others say about it.
func (f Fault) String() string {
	if f.Hint == "" {
		return f.What
	}
	return f.Hint + " (" + f.What + ")"
}

// Explain says what an error of the library means. It quotes nothing of the text.
func Explain(err *yaml.LoadError, lines Lines) Fault {
	e := &explainer{Lines: lines, at: place{err.Mark.Line, err.Mark.Column}, from: place{err.ContextMark.Line, err.ContextMark.Column}, what: err.Message}
	look := e.at
	hint := ""
	if known := hints[err.Message]; known != nil {
		hint = known(e)
	} else if strings.HasPrefix(err.Message, "unknown anchor") {
		hint = anchor(e)
	}
	if e.look.line > 0 {
		look = e.look
	}
	return Fault{Line: look.line, Column: look.column, What: err.Message, Hint: hint}
}

type place struct{ line, column int }

// explainer looks at the text around an error.
type explainer struct {
	Lines
	at   place  // where the library stopped
	from place  // where what it was reading begins
	look place  // where to look, if that is elsewhere
	what string // in its words
}

// before and behind return what stands in the line of the error.
func (e *explainer) before() string {
	runes := []rune(e.Line(e.at.line))
	return string(runes[:max(0, min(e.at.column-1, len(runes)))])
}

func (e *explainer) behind() string {
	runes := []rune(e.Line(e.at.line))
	return string(runes[max(0, min(e.at.column-1, len(runes))):])
}

// above returns the nearest line above one that has more than a comment, and how far it is indented; 0 if there is none. It looks at
// as many lines as people see at once.
func (e *explainer) above(line int, fits func(text string) bool) int {
	const most = 200
	for n := line - 1; n > 0 && n >= line-most; n-- {
		text := strings.TrimSpace(e.Line(n))
		if BeginsDocument(e.Line(n)) {
			return 0
		}
		if text != "" && text[0] != '#' && fits(e.Line(n)) {
			return n
		}
	}
	return 0
}

func everything(string) bool { return true }

// indentation returns how many spaces a line begins with.
func indentation(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// keyed reports whether a line has a key, with its colon, and what stands behind it.
func keyed(text string) (value string, ok bool) {
	text = strings.TrimRight(text, " \t\r")
	if i := strings.Index(text, ": "); i >= 0 {
		return strings.TrimSpace(text[i+2:]), true
	}
	return "", strings.HasSuffix(text, ":")
}

// braces says that a value begins with two braces, if it does: an action of a template that stands in no text.
func (e *explainer) braces(line int) string {
	value, ok := keyed(e.Line(line))
	if !ok {
		value = strings.TrimLeft(e.Line(line), " -")
	}
	if !strings.HasPrefix(value, "{{") {
		return ""
	}
	return "a value that begins with {{ needs quotes around it"
}

// QuoteLine returns what to call a line by its own words: by its key, or else by how it begins.
func QuoteLine(line string) string {
	const longest = 40
	text := strings.TrimSpace(line)
	if value, ok := keyed(text); ok {
		text = strings.TrimSpace(strings.TrimSuffix(text, value))
	}
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return `"` + text + `"`
}

// BeginsDocument reports whether a line of YAML, with its end or without, begins a document: with three hyphens. What stands behind
// them belongs to the document.
func BeginsDocument(line string) bool { return isMarker(line, "---") }

// EndsDocument reports whether a line of YAML, with its end or without, ends a document: with three dots.
func EndsDocument(line string) bool { return isMarker(line, "...") }

// isMarker reports whether a line begins with the mark, and not with a longer word.
func isMarker(line, mark string) bool {
	rest, ok := strings.CutPrefix(line, mark)
	return ok && (rest == "" || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}
