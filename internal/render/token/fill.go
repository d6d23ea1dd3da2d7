package token

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrEncoding means that a value is not valid text.
var ErrEncoding = errors.New("a value is not valid UTF-8; encode it with b64enc")

// ErrMissing means that text contains a value that does not exist yet.
var ErrMissing = errors.New("a value does not exist yet")

// errToken means that there is a bug in templater.
var errToken = errors.New("internal error: a token is left over")

// Expand returns the characters that rendered text stands for.
func (t *Table) Expand(r Rendered) (string, error) {
	return t.Fill(t.Unmarked(string(r)), true)
}

// Fill replaces each token in text by its value. With indent, all lines but the first of an AsIs value get the indentation of the
// token's line.
func (t *Table) Fill(text string, indent bool) (string, error) {
	if err := t.Charge(2 * len(text)); err != nil {
		return "", err
	}
	if !t.Has(text) {
		return text, nil
	}
	if t.Lacks(text) {
		return "", ErrMissing
	}
	size, err := t.filledSize(text, indent)
	if err != nil {
		return "", err
	}
	if err := t.Charge(size); err != nil {
		return "", err
	}
	out := make([]byte, 0, size)
	margin := ""
	for first := true; ; first = false {
		before, tok, after, ok := t.next(text)
		out = append(out, before...)
		if !ok {
			return string(out), nil
		}
		margin = marginAfter(margin, before, first)
		if s, _ := tok.Value.(string); !utf8.ValidString(s) {
			return "", ErrEncoding
		}
		value := tok.encoded()
		if indent && tok.Mode == AsIs && margin != "" {
			out = appendIndented(out, value, margin, after)
		} else {
			out = append(out, value...)
		}
		text = after
	}
}

// filledSize returns an upper bound of the size of the filled text, so that it can be charged for in advance.
func (t *Table) filledSize(text string, indent bool) (int, error) {
	size, margin := 0, ""
	for first := true; ; first = false {
		before, tok, after, ok := t.next(text)
		size += len(before)
		if !ok {
			return size, nil
		}
		if tok == nil {
			return 0, errToken
		}
		n := tok.encodedSize()
		if err := t.Charge(n); err != nil {
			return 0, err
		}
		margin = marginAfter(margin, before, first)
		if indent && tok.Mode == AsIs {
			s, _ := tok.Value.(string)
			n += strings.Count(s, "\n") * len(margin)
		}
		size += n
		text = after
	}
}

// appendIndented appends value, with margin before all lines but the first and empty ones. The text after the value may continue its
// last line.
func appendIndented(out []byte, value, margin, after string) []byte {
	for {
		line, rest, more := strings.Cut(value, "\n")
		out = append(out, line...)
		if !more {
			return out
		}
		out = append(out, '\n')
		if rest == "" && after != "" && after[0] != '\n' || rest != "" && rest[0] != '\n' {
			out = append(out, margin...)
		}
		value = rest
	}
}

// marginAfter returns the indentation of the line that is being written after
// text was added to one with the given margin.
func marginAfter(margin, text string, first bool) string {
	end := strings.LastIndexByte(text, '\n')
	if end < 0 && !first {
		return margin
	}
	line := text[end+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// Blank reports whether the filled text would be empty.
func (t *Table) Blank(text string) bool {
	for {
		before, tok, after, ok := t.next(text)
		if before != "" {
			return false
		}
		if !ok {
			return true
		}
		if tok == nil || tok.Value != "" || tok.Mode == YAMLScalar {
			return false
		}
		text = after
	}
}
