package object

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads JSON text that Decode has validated. Strings without escapes are slices of the text, without allocation.
type reader struct {
	s  string
	at int
}

// Parse decodes JSON text into the types of Content, and reports whether it is valid.
func Parse(text string) (any, bool) {
	if !jsontext.Value(text).IsValid() {
		return nil, false
	}
	r := reader{s: text}
	return r.value(), true
}

// next skips white space and returns the next byte without consuming it.
func (r *reader) next() byte {
	for r.at < len(r.s) {
		switch c := r.s[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// items iterates over a list or an object. Initially, the reader is in front of the opening bracket. items reports whether there
// is another item, and moves the reader in front of it. The caller must read each item. After the last one, items consumes the
// closing bracket.
func (r *reader) items(opening, closing byte) bool {
	switch r.next() {
	case opening:
		r.at++
		if r.next() == closing {
			r.at++
			return false
		}
		return true
	case ',':
		r.at++
		r.next()
		return true
	case closing:
		r.at++
	}
	return false
}

// key reads the name of a member and the colon.
func (r *reader) key() string {
	name := r.text()
	r.next()
	r.at++
	r.next()
	return name
}

// find moves to the value of a member of an object, and reports whether there is one.
func (r *reader) find(name string) bool {
	for r.items('{', '}') {
		if r.key() == name {
			return true
		}
		r.skip()
	}
	return false
}

// seek moves to the value at a path of keys, and reports whether there is one.
func (r *reader) seek(path []string) bool {
	for _, key := range path {
		if r.next() != '{' || !r.find(key) {
			return false
		}
	}
	return true
}

// text reads a string. It skips any other value and returns "".
func (r *reader) text() string {
	if r.next() != '"' {
		r.skip()
		return ""
	}
	start := r.at
	raw := r.quoted()
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	out, _ := jsontext.AppendUnquote(nil, r.s[start:r.at]) // Decode has accepted it
	return string(out)
}

// quoted reads a string and returns the text between the quotes, without unescaping it.
func (r *reader) quoted() string {
	start := r.at + 1
	for i := start; i < len(r.s); i++ {
		end := strings.IndexByte(r.s[i:], '"')
		if end < 0 {
			break
		}
		if i += end; !escapes(r.s[start:i]) {
			r.at = i + 1
			return r.s[start:i]
		}
	}
	r.at = len(r.s)
	return ""
}

// escapes reports whether the text ends with an odd number of backslashes, so that they escape the next character.
func escapes(text string) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// skip reads a value of any kind.
func (r *reader) skip() {
	for depth := 0; r.at < len(r.s); {
		switch r.next() {
		case '"':
			r.quoted()
		case '{', '[':
			depth++
			r.at++
			continue
		case '}', ']':
			depth--
			r.at++
		case ',', ':':
			r.at++
			continue
		default:
			r.scalar()
		}
		if depth <= 0 {
			return
		}
	}
}

// scalar reads a number, true, false or null, and returns its text.
func (r *reader) scalar() string {
	start := r.at
	for r.at < len(r.s) {
		switch r.s[r.at] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r':
			return r.s[start:r.at]
		}
		r.at++
	}
	return r.s[start:]
}

// value reads a value as JSON data.
func (r *reader) value() any {
	switch r.next() {
	case '{':
		m := make(map[string]any)
		for r.items('{', '}') {
			name := r.key()
			m[name] = r.value()
		}
		return m
	case '[':
		list := []any{}
		for r.items('[', ']') {
			list = append(list, r.value())
		}
		return list
	case '"':
		return r.text()
	}
	switch s := r.scalar(); s {
	case "null", "":
		return nil
	case "true":
		return true
	case "false":
		return false
	default:
		return number(s)
	}
}

// number returns an int64 for an integer that fits, otherwise a float64, like apimachinery.
func number(s string) any {
	if len(s) <= len("-9223372036854775808") && !strings.ContainsAny(s, ".eE") { // errors of ParseInt are expensive
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.Inf(1) // out of range: the renderer rejects numbers that are not finite
	}
	return f
}
