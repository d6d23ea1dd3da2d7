// Package token implements tokens: placeholders for values in the output of templates until its YAML is parsed.
package token

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
)

// Rendered is template output that contains tokens. It is only valid within the execution that created it.
type Rendered string

// Derived is plain text of several lines, computed from rendered text.
type Derived string

// Mode is how the value of a token is inserted into larger text, such as a block scalar. If a token is a whole scalar, the value
// replaces it unchanged.
type Mode uint8

// The modes of a [Token].
const (
	AsIs         Mode = iota // the characters themselves; later lines are indented
	Verbatim                 // the characters themselves, not indented
	YAMLScalar               // a YAML scalar on one line, with quotes where needed
	DoubleQuoted             // as between double quotes in JSON and YAML
	SingleQuoted             // as between single quotes in YAML
)

// Token is a value with a placeholder in text: a string, int64, float64 or bool.
type Token struct {
	Value any
	Mode  Mode
}

// Missing is the value of a token for a value that does not exist yet: the key or list item that contains it is omitted.
type Missing struct{}

// A token is written as the marker, its number in decimal and tokenEnd. The marker is a single character that no template contains, so
// the author's text can neither imitate nor split it. Data need not be searched for it, because data only gets into text as a token.
const tokenEnd = 'x'

// Table contains the tokens of one execution, and its budget: filling text is charged for.
type Table struct {
	budget.Meter
	// Marker is the first character of each token: see ChooseMarker.
	Marker string
	all    []Token
	marks  int  // see NewMark
	lacks  bool // whether a value is Missing
}

// Add appends to out a token that stands for value.
func (t *Table) Add(out []byte, value any, m Mode) []byte {
	out = append(out, t.Marker...)
	out = strconv.AppendInt(out, int64(len(t.all)), 10)
	t.all = append(t.all, Token{value, m})
	return append(out, tokenEnd)
}

// AddMissing appends to out a token for a value that is missing.
func (t *Table) AddMissing(out []byte) []byte {
	t.lacks = true
	return t.Add(out, Missing{}, AsIs)
}

// Lacks reports whether text contains a token for a missing value.
func (t *Table) Lacks(text string) bool {
	for more := t.lacks; more; {
		var tok *Token
		if _, tok, text, more = t.next(text); more && tok != nil && tok.Value == (Missing{}) {
			return true
		}
	}
	return false
}

// next splits text at its first token: the text before it, the token, and the text after it. ok is false if there is none. A marker
// that is not followed by a known token is a bug in templater: then the token is nil.
func (t *Table) next(text string) (before string, tok *Token, after string, ok bool) {
	before, rest, found := strings.Cut(text, t.Marker)
	if !found {
		return text, nil, "", false
	}
	number, after, closed := strings.Cut(rest, string(tokenEnd))
	id, err := strconv.Atoi(number)
	if !closed || err != nil || id < 0 || id >= len(t.all) {
		return before, nil, rest, true
	}
	return before, &t.all[id], after, true
}

// Whole returns the token if text consists of a single one, or nil.
func (t *Table) Whole(text string) *Token {
	if !strings.HasPrefix(text, t.Marker) {
		return nil
	}
	_, tok, after, _ := t.next(text)
	if after != "" {
		return nil
	}
	return tok
}

// Has reports whether text contains a token.
func (t *Table) Has(text string) bool { return strings.Contains(text, t.Marker) }

// mostKept is the number of tokens for which a table keeps memory.
const mostKept = 8 << 10

// Reset removes the tokens and keeps their memory for reuse. If that has grown too large, Reset does nothing and returns true.
func (t *Table) Reset() (large bool) {
	if cap(t.all) > mostKept {
		return true
	}
	clear(t.all)
	t.all, t.marks, t.lacks = t.all[:0], 0, false
	return false
}

// FormatFloat writes a finite number as encoding/json does: the shortest text
// that reads back as the same number, with an exponent only when it is far
// from 1.
func FormatFloat(f float64) string {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.FormatFloat(f, format, -1, 64)
}

// ParseNumber parses a JSON number: an int64 if it is written as an integer, a float64 otherwise. An integer that exceeds int64 is an
// error, because a float64 would not be exact.
func ParseNumber(s string) (any, error) {
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, errors.New("an integer does not fit in 64 bits; quote it to make it a string")
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return nil, errors.New("a number is too large")
	}
	return f, nil
}

// KindOf returns the name of a value's type for messages.
func KindOf(v any) string {
	switch v.(type) {
	case nil:
		return "a missing value"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case string, Derived, Rendered:
		return "a string"
	case []any:
		return "a list"
	}
	return "a map"
}
