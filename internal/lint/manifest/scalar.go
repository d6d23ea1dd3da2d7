package manifest

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// inScalar maps a line and a column of the text of a scalar to a place in the document; column 0 maps only the line. It
// returns 0 if the text has no such line.
func (d *yamlDocument) inScalar(n *yaml.Node, line, column int) (int, int) {
	above, content, found := lineIn(n.Value, line)
	if n.Kind != yaml.ScalarNode || !found {
		return 0, 0
	}
	if n.Style&yaml.LiteralStyle != 0 {
		return d.inLiteral(n, content, line, column)
	}
	text := []rune(content)
	at := min(max(column, 1)-1, len(text))
	before := blackIn(above) + blackIn(string(text[:at]))
	places := d.placesIn(n)
	switch {
	case len(places) == 0:
		return n.Line, n.Column
	case at < len(text) && !white(text[at]) && before < len(places):
		return hide(places[before], column)
	case before == 0:
		return hide(places[0], column)
	}
	// White space or a line end: the distance to the last other character.
	last := places[min(before, len(places))-1]
	behind := 1
	for i := at - 1; i >= 0 && white(text[i]); i-- {
		behind++
	}
	return hide(spot{last.line, last.column + behind}, column)
}

// lineIn returns a line of a text, from 1, and the text above it.
func lineIn(text string, line int) (above, content string, found bool) {
	from := 0
	for range line - 1 {
		n := strings.IndexByte(text[from:], '\n')
		if n < 0 {
			return "", "", false
		}
		from += n + 1
	}
	content, _, _ = strings.Cut(text[from:], "\n")
	return text[:from], content, true
}

// placesIn is a cache of black: it reads each scalar once.
func (d *yamlDocument) placesIn(n *yaml.Node) []spot {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.spots == nil {
		d.spots = map[*yaml.Node][]spot{}
	}
	places, known := d.spots[n]
	if !known {
		places = d.black(n)
		d.spots[n] = places
	}
	return places
}

// hide omits the column if it was not requested.
func hide(s spot, column int) (int, int) {
	if column == 0 {
		return s.line, 0
	}
	return s.line, s.column
}

// inLiteral is inScalar for a literal block (|), whose lines are those of the text, after the indentation.
func (d *yamlDocument) inLiteral(n *yaml.Node, text string, line, column int) (int, int) {
	at := n.Line + line
	if at > len(d.lines) {
		return 0, 0
	}
	if column == 0 {
		return at, 0
	}
	indent := len(d.lines[at-1]) - len(text)
	if text == "" { // a blank line can be shorter than the indentation
		indent = d.indentBelow(n.Line)
	}
	return at, max(indent, 0) + column
}

// indentBelow returns the indentation of the first non-blank line below a line.
func (d *yamlDocument) indentBelow(line int) int {
	for _, text := range d.lines[line:] {
		if trimmed := strings.TrimLeft(text, " "); trimmed != "" {
			return len(text) - len(trimmed)
		}
	}
	return 0
}

// spot is a place in a document: line and column, from 1.
type spot struct{ line, column int }

// white reports whether folding can change a character or its number.
func white(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// blackIn counts the non-white characters.
func blackIn(s string) int {
	n := 0
	for _, r := range s {
		if !white(r) {
			n++
		}
	}
	return n
}

// black returns the places of the non-white characters of a scalar. For all styles of scalars, these are the same
// characters in the document and in the text, in the same order.
func (d *yamlDocument) black(n *yaml.Node) []spot {
	r := &reader{lines: d.lines, line: n.Line, column: n.Column}
	switch {
	case n.Style&yaml.FoldedStyle != 0:
		r.line, r.column = n.Line+1, 1
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		r.next()
	}
	var all []spot
	for want := blackIn(n.Value); len(all) < want; {
		at := spot{r.line, r.column}
		c, ok := r.next()
		if !ok {
			break
		}
		switch {
		case c == '\'' && n.Style&yaml.SingleQuotedStyle != 0:
			r.next() // the second character of an escaped quote
		case c == '\\' && n.Style&yaml.DoubleQuotedStyle != 0:
			c = r.escape()
		}
		if !white(c) {
			all = append(all, at)
		}
	}
	return all
}

// reader reads a document by character.
type reader struct {
	lines        []string
	line, column int // of the next character, from 1
	rest         string
	begun        bool
}

// next returns the next character, including line ends, or false at the end.
func (r *reader) next() (rune, bool) {
	if r.line > len(r.lines) {
		return 0, false
	}
	if !r.begun {
		r.begun = true
		r.rest = r.lines[r.line-1]
		for range r.column - 1 {
			_, n := utf8.DecodeRuneInString(r.rest)
			r.rest = r.rest[n:]
		}
	}
	if r.rest == "" {
		r.line, r.column, r.begun = r.line+1, 1, false
		return '\n', true
	}
	c, n := utf8.DecodeRuneInString(r.rest)
	r.rest = r.rest[n:]
	r.column++
	return c, true
}

// escape reads an escape sequence after a backslash, and returns a character that is white if the escaped one is.
func (r *reader) escape() rune {
	c, _ := r.next()
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch {
	case digits > 0:
		code := rune(0)
		for range digits {
			digit, _ := r.next()
			code = code<<4 + rune(strings.IndexRune("0123456789abcdef", digit|0x20))
		}
		return code
	case strings.ContainsRune("tnr", c) || white(c):
		return ' '
	}
	return c
}
