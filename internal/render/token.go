package render

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// rendered is template output with tokens in it; see the package comment. It
// means something only within the execution that made it.
type rendered string

// derived is plain text of several lines, computed from rendered text.
type derived string

// mode says how the value of a token goes into larger text, such as a block
// scalar. Where a token is a whole scalar by itself, the value is restored
// as it is.
type mode uint8

const (
	asIs         mode = iota // the characters themselves; later lines are indented
	verbatim                 // the characters themselves, not indented
	yamlScalar               // a YAML scalar on one line, with quotes where needed
	doubleQuoted             // what stands between double quotes in JSON and YAML
	singleQuoted             // what stands between single quotes in YAML
)

// token is a value that text stands in for: a string, int64, float64 or bool.
type token struct {
	value any
	mode  mode
}

// A token is written as the marker, its number in decimal and tokenEnd. The
// marker is a single character that no template contains, so it can neither
// be imitated by the author's text nor be cut in two. Data need not be
// searched for it: data gets into text only as a token.
const tokenEnd = 'x'

// tokens holds the tokens of one execution.
type tokens struct {
	marker string
	all    []token
}

// add appends to out a token that stands for value.
func (t *tokens) add(out []byte, value any, m mode) []byte {
	out = append(out, t.marker...)
	out = strconv.AppendInt(out, int64(len(t.all)), 10)
	t.all = append(t.all, token{value, m})
	return append(out, tokenEnd)
}

// next splits text at its first token: what comes before, the token, and what
// comes after. It yields ok = false when text has none. A marker without a
// known token behind it is our own fault and yields a nil token.
func (t *tokens) next(text string) (before string, tok *token, after string, ok bool) {
	before, rest, found := strings.Cut(text, t.marker)
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

// whole returns the token that text consists of, or nil.
func (t *tokens) whole(text string) *token {
	if !strings.HasPrefix(text, t.marker) {
		return nil
	}
	_, tok, after, _ := t.next(text)
	if after != "" {
		return nil
	}
	return tok
}

// has reports whether text holds a token.
func (t *tokens) has(text string) bool { return strings.Contains(text, t.marker) }

// escapedMarker matches what YAML may read as a private-use character.
var escapedMarker = regexp.MustCompile(`\\(?:u|U0000)([0-9a-fA-F]{4})`)

// chooseMarker returns a private-use character that none of texts contains,
// in the form of an escape either.
func chooseMarker(texts []*syntax.Text) string {
	used := map[rune]bool{}
	for _, t := range texts {
		for _, r := range t.Content {
			if r >= firstMarker {
				used[r] = true
			}
		}
		for _, m := range escapedMarker.FindAllStringSubmatch(t.Content, -1) {
			r, _ := strconv.ParseUint(m[1], 16, 16)
			used[rune(r)] = true
		}
	}
	r := firstMarker
	for used[r] {
		r++
	}
	return string(r)
}

// firstMarker begins Unicode's private use area; the 6,400 characters there
// are printable to YAML and mean nothing to it.
const (
	firstMarker = '\ue000'
	lastMarker  = '\uf8ff'
)
