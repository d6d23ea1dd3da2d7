package document

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Lines provides the lines of a text that failed to parse.
type Lines struct {
	// Line returns line n without its line end, counted from 1, or "" if there is none.
	Line func(n int) string
	// Name returns how to refer to line n, such as "line 3".
	Name func(n int) string
}

// Fault describes where and why a text is not YAML.
type Fault struct {
	// Line and Column are where to look, from 1, Column in characters. For quotes that are never closed, that is where they begin.
	// 0 means unknown.
	Line, Column int
	// What is the message of the library.
	What string
	// Hint explains what that usually means, and what to do; "" if unknown.
	Hint string
}

// String returns the hint, and in parentheses the library's message, which users can search for.
func (f Fault) String() string {
	if f.Hint == "" {
		return f.What
	}
	return f.Hint + " (" + f.What + ")"
}

// Explain explains an error of the library. Its hints quote only punctuation and what lines.Name returns.
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

// explainer examines the text around an error.
type explainer struct {
	Lines
	at   place  // where the library stopped
	from place  // start of what it was reading
	look place  // where to look, if not at
	what string // its message
}

// before and behind return the parts of the line before and after the error.
func (e *explainer) before() string {
	runes := []rune(e.Line(e.at.line))
	return string(runes[:max(0, min(e.at.column-1, len(runes)))])
}

func (e *explainer) behind() string {
	runes := []rune(e.Line(e.at.line))
	return string(runes[max(0, min(e.at.column-1, len(runes))):])
}

// above returns the number of the nearest line above the given one that is more than a comment and that fits accepts; 0 if there is
// none nearby in the same document.
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

// keyed reports whether a line has a key with a colon, and returns what follows it.
func keyed(text string) (value string, ok bool) {
	text = strings.TrimRight(text, " \t\r")
	if i := strings.Index(text, ": "); i >= 0 {
		return strings.TrimSpace(text[i+2:]), true
	}
	return "", strings.HasSuffix(text, ":")
}

// braces returns a hint if the value in a line begins with two braces, as a template action without quotes does, else "".
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

// QuoteLine returns how to refer to a line by its own text: its key, or else its beginning, in quotes.
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

// BeginsDocument reports whether a line of YAML, with or without its line end, begins a document: with three hyphens. Anything after
// them belongs to the document.
func BeginsDocument(line string) bool { return isMarker(line, "---") }

// EndsDocument reports whether a line of YAML, with or without its line end, ends a document: with three dots.
func EndsDocument(line string) bool { return isMarker(line, "...") }

// isMarker reports whether a line begins with mark as a whole word.
func isMarker(line, mark string) bool {
	rest, ok := strings.CutPrefix(line, mark)
	return ok && (rest == "" || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}
