package crd

import (
	"fmt"
	"strings"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// marker is one marker of a field, such as minimum=0.
type marker struct{ name, value string }

// maxMarkers is more than there are.
const maxMarkers = 30

// split splits the text of a field, such as `integer | default=1 minimum=0`, into its type and its markers. Markers can be separated by
// spaces and by |.
func split(text string) (typeName string, markers []marker, err error) {
	typeName, rest, _ := strings.Cut(text, "|")
	for {
		rest = strings.TrimLeft(rest, " \t\n|")
		if rest == "" {
			return strings.TrimSpace(typeName), markers, nil
		}
		name, after, found := strings.Cut(rest, "=")
		if name = strings.TrimSpace(name); !found || strings.ContainsAny(name, " \"") {
			return "", nil, fmt.Errorf("%s: write a marker as name=value", quoteShort(rest))
		}
		value, left, err := readValue(strings.TrimLeft(after, " "))
		if err != nil {
			return "", nil, fmt.Errorf("marker %s: %w", name, err)
		}
		for _, m := range markers {
			if m.name == name {
				return "", nil, fmt.Errorf("marker %s is set twice", name)
			}
		}
		if markers, rest = append(markers, marker{name, value}), left; len(markers) > maxMarkers {
			return "", nil, fmt.Errorf("there are more than %d markers", maxMarkers)
		}
	}
}

// readValue reads the value of a marker from the start of text: in quotes, or up to the next space that is not in quotes or brackets.
func readValue(text string) (value, rest string, err error) {
	quoted, depth, end := false, 0, len(text)
scan:
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth < 0 {
				return "", "", fmt.Errorf("unmatched %c: put the value in quotes", c)
			}
		case depth == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '|'):
			end = i
			break scan
		}
	}
	switch value = text[:end]; {
	case quoted:
		return "", "", fmt.Errorf("the quote in %s is not closed", quoteShort(text))
	case depth > 0:
		return "", "", fmt.Errorf("a bracket in %s is not closed", quoteShort(text))
	case value == "":
		return "", "", fmt.Errorf("the value is missing")
	case len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"':
		value = unescape.Replace(value[1 : len(value)-1])
	}
	return value, text[end:], nil
}

// unescape undoes escapes in quotes. A backslash before any other character is kept, so that patterns need no second one.
var unescape = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// quoteShort quotes the first characters of a text.
func quoteShort(text string) string {
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// unknownName returns an error for a name that is not one of known, with the most similar one.
func unknownName(what, name string, known []string) error {
	return fmt.Errorf("unknown %s %s%s", what, quoteShort(name), syntax.DidYouMean(syntax.Nearest(name, known)))
}
