package syntax

import "unicode/utf8"

// Positions tells the positions of many offsets, as Text.Position does. An offset costs as little as it is far from the one before it
// in the same text, so that it is cheap to ask for them in order. It is not safe for concurrent use.
type Positions map[*Text]position

type position struct{ offset, line, column int }

// Of returns the 1-based line and column, in characters, of an offset in what is parsed of t.
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
