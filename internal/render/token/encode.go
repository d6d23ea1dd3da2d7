package token

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ScalarText returns the characters of a token's value.
func ScalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return FormatFloat(v)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// encoded returns the text that replaces a token within larger text.
func (t *Token) encoded() string {
	s := ScalarText(t.Value)
	str, isString := t.Value.(string)
	if !isString {
		return s
	}
	switch t.Mode {
	case YAMLScalar:
		if plainSafe(str) {
			return str
		}
		return `"` + escape(str) + `"`
	case DoubleQuoted:
		return escape(str)
	case SingleQuoted:
		return strings.ReplaceAll(str, "'", "''")
	case AsIs, Verbatim:
	}
	return str
}

// encodedSize returns an upper bound of len(encoded()) without computing it.
func (t *Token) encodedSize() int {
	s, isString := t.Value.(string)
	switch {
	case !isString:
		return 32
	case t.Mode == AsIs || t.Mode == Verbatim:
		return len(s)
	case t.Mode == SingleQuoted:
		return len(s) + strings.Count(s, "'")
	}
	n := len(s) + 2
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			n++
		case b < ' ' || b >= 0x7f:
			n += 5
		}
	}
	return n
}

const hexDigits = "0123456789abcdef"

// escape writes s as it appears between double quotes, with the escapes that JSON and YAML have in common.
func escape(s string) string {
	plain := true
	for i := range len(s) {
		if b := s[i]; b < ' ' || b >= 0x7f || b == '"' || b == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	out := make([]byte, 0, len(s)+16)
	for _, r := range s {
		out = appendEscaped(out, r)
	}
	return string(out)
}

func appendEscaped(out []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(out, '\\', byte(r))
	case r == '\n':
		return append(out, '\\', 'n')
	case r == '\t':
		return append(out, '\\', 't')
	case r == '\r':
		return append(out, '\\', 'r')
	case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff:
		// Line ends and invisible characters in YAML or JavaScript.
		return append(out, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
	return utf8.AppendRune(out, r)
}

// plainSafe reports whether every YAML parser, of version 1.1 or 1.2, reads the unquoted s as the string s, in block and flow context.
func plainSafe(s string) bool {
	if s == "" || s[len(s)-1] == ' ' || s[len(s)-1] == ':' || Ambiguous(s) {
		return false
	}
	if c := s[0]; !isLetter(c) && c != '_' && c != '/' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case isLetter(c), c >= '0' && c <= '9', strings.IndexByte("_./-+=@", c) >= 0:
		case c == ' ' && s[i-1] != ' ':
		case c == ':' && s[i+1] != ' ':
		default:
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// Ambiguous reports whether some version of YAML reads a word as something other than a string.
func Ambiguous(word string) bool { return ambiguous[strings.ToLower(word)] }

// ambiguous contains these words in lower case.
var ambiguous = map[string]bool{
	"null": true, "true": true, "false": true,
	"yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
}
