package object

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// The server parses applied objects as YAML, of which JSON is almost a subset. The output of this file means the same in both.

// AppendText appends a JSON string that YAML parses as the same text. Invalid UTF-8 is replaced by U+FFFD.
//
// It escapes the characters that YAML would interpret differently or reject, and no others. YAML has no surrogate pairs, so
// characters outside the BMP must not be escaped.
func AppendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0 // start of the text that is not appended yet
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if plain[c] {
				i++
				continue
			}
			b = appendEscape(append(b, s[from:i]...), rune(c))
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = utf8.AppendRune(append(b, s[from:i]...), utf8.RuneError)
			from = i + n
		case otherInYAML(r):
			b = appendEscape(append(b, s[from:i]...), r)
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

// plain are the characters below U+0080 that need no escape.
var plain = func() (set [utf8.RuneSelf]bool) {
	for c := ' '; c < '\x7f'; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

// otherInYAML reports whether YAML treats a character from U+0080 on as a line break, as a byte order mark, or as not printable.
// https://yaml.org/spec/1.1/#c-printable
func otherInYAML(r rune) bool {
	switch {
	case r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return true
	}
	return false
}

// appendEscape appends a character below U+10000 in its shortest escaped form.
func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\t':
		return append(b, '\\', 't')
	case '\r':
		return append(b, '\\', 'r')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// Cut truncates s to at most most bytes, which must be at least 3, on a rune boundary and with a trailing ….
func Cut(s string, most int) string {
	const end = "…"
	if len(s) <= most {
		return s
	}
	at := most - len(end)
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + end
}

// Line sanitizes untrusted text for display. It returns a single line of at most most bytes, which must be at least 3. Line
// breaks and tabs are replaced by spaces; invisible characters, and characters that change how others are displayed, by U+FFFD.
func Line(s string, most int) string {
	s = Cut(s, most)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= '\x7f' { // fast path for ASCII
			return Cut(strings.Map(shown, s), most)
		}
	}
	return s
}

func shown(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r):
		return utf8.RuneError
	}
	return r
}

// MaxKeyLength is the maximum length of a mapping key in YAML, in characters, including quotes and escapes.
// https://yaml.org/spec/1.1/#id927557
const MaxKeyLength = 1024

// LongKey returns the path of the first mapping with a key that is too long for the server to parse in an applied object, "." for
// the root, or "" if there is none.
func LongKey(content map[string]any) string {
	path, found := longKey(content)
	if found && path == "" {
		return "."
	}
	return path
}

func longKey(v any) (path string, found bool) {
	switch v := v.(type) {
	case map[string]any:
		first := ""
		for key, value := range v {
			if tooLong(key) {
				return "", true
			}
			if below, in := longKey(value); in && (!found || key < first) {
				first, path, found = key, join(key, below), true
			}
		}
	case []any:
		for i, item := range v {
			if below, in := longKey(item); in {
				return join("["+strconv.Itoa(i)+"]", below), true
			}
		}
	}
	return path, found
}

func tooLong(key string) bool {
	const maxEscapeBytes = len(`\u0000`)
	if len(key) <= MaxKeyLength/maxEscapeBytes-2 {
		return false
	}
	return utf8.RuneCount(AppendText(nil, key)) > MaxKeyLength
}

// join joins two parts of a path; below may be empty.
func join(part, below string) string {
	if below == "" || below[0] == '[' {
		return part + below
	}
	return part + "." + below
}

// repair replaces each invalid UTF-8 byte and each unpaired surrogate escape in JSON text by U+FFFD, like encoding/json.
func repair(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		n := 0
		switch r, size := utf8.DecodeRune(text[i:]); {
		case r == utf8.RuneError && size == 1:
			out = utf8.AppendRune(out, utf8.RuneError)
			i++
			continue
		case r == '\\':
			n = escapeLength(text[i:])
			if n == 0 {
				out = append(out, `\ufffd`...)
				i += len(`\ufffd`)
				continue
			}
		default:
			n = size
		}
		out = append(out, text[i:i+n]...)
		i += n
	}
	return out
}

// escapeLength returns the length of the escape at the beginning of the text, where a surrogate pair counts as one escape, or 0
// for an unpaired surrogate.
func escapeLength(text []byte) int {
	first, ok := escaped(text)
	switch {
	case !ok:
		return min(2, len(text))
	case !utf16.IsSurrogate(first):
		return len(`\u0000`)
	}
	second, ok := escaped(text[len(`\u0000`):])
	if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
		return 0
	}
	return 2 * len(`\u0000`)
}

// escaped returns the code unit of the \u0000 escape at the beginning of the text.
func escaped(text []byte) (rune, bool) {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}
