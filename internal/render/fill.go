package render

import (
	"errors"
	"strings"
	"unicode/utf8"
)

var (
	errEncoding = errors.New("a value is not valid UTF-8; encode it with b64enc")
	errToken    = errors.New("internal: a token is left over")
)

// expand returns the characters that rendered text stands for.
func (x *exec) expand(r rendered) (string, error) {
	return x.fill(x.unmarked(string(r)), true)
}

// fill puts the value of each token into text. With indent, the later lines
// of a value that goes in as it is get the indentation of the line on which
// the token stands.
func (x *exec) fill(text string, indent bool) (string, error) {
	if err := x.Charge(2 * len(text)); err != nil {
		return "", err
	}
	if !x.tokens.has(text) {
		return text, nil
	}
	size, err := x.filledSize(text, indent)
	if err != nil {
		return "", err
	}
	if err := x.Charge(size); err != nil {
		return "", err
	}
	out := make([]byte, 0, size)
	margin := ""
	for first := true; ; first = false {
		before, tok, after, ok := x.tokens.next(text)
		out = append(out, before...)
		if !ok {
			return string(out), nil
		}
		margin = marginAfter(margin, before, first)
		if s, _ := tok.value.(string); !utf8.ValidString(s) {
			return "", errEncoding
		}
		value := tok.encoded()
		if indent && tok.mode == asIs && margin != "" {
			out = appendIndented(out, value, margin, after)
		} else {
			out = append(out, value...)
		}
		text = after
	}
}

// filledSize returns an upper bound of the size of the filled text, so that
// it can be charged before it is made.
func (x *exec) filledSize(text string, indent bool) (int, error) {
	size, margin := 0, ""
	for first := true; ; first = false {
		before, tok, after, ok := x.tokens.next(text)
		size += len(before)
		if !ok {
			return size, nil
		}
		if tok == nil {
			return 0, errToken
		}
		n := tok.encodedSize()
		if err := x.Charge(n); err != nil {
			return 0, err
		}
		margin = marginAfter(margin, before, first)
		if indent && tok.mode == asIs {
			s, _ := tok.value.(string)
			n += strings.Count(s, "\n") * len(margin)
		}
		size += n
		text = after
	}
}

// appendIndented appends value with margin before its later lines, except
// those that are empty. What follows the value may continue its last line.
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
