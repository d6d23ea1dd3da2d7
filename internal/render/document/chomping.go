package document

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/token"
)

// chomping is how a block scalar treats its final line ends, from its header.
type chomping byte

const (
	clip  chomping = ' '
	strip chomping = '-'
	keep  chomping = '+'
)

// chompingIn finds the header of a block scalar, which follows the scalar's
// anchor and tag, if any, and charges for that. It does so again for each alias
// of the scalar.
func chompingIn(x *token.Table, t *yamlText, n *yaml.Node) (chomping, error) {
	if err := x.Charge(8 * n.Column); err != nil {
		return clip, err
	}
	at := t.offset(n.Line, n.Column)
	for at >= 0 && at < len(t.content) {
		rest := t.content[at:]
		switch rest[0] {
		case '&', '!':
			skipped := len(rest) - len(strings.TrimLeft(rest[wordEnd(rest):], " \t\r\n"))
			if err := x.Charge(skipped); err != nil {
				return clip, err
			}
			at += skipped
			continue
		case '|', '>':
			return chompingOf(rest[1:]), nil
		}
		break
	}
	return clip, errors.New("internal: the header of a block scalar was not found")
}

// chompingOf reads the indicators after | or >.
func chompingOf(header string) chomping {
	for i := range len(header) {
		switch c := header[i]; {
		case c == '-':
			return strip
		case c == '+':
			return keep
		case c < '1' || c > '9':
			return clip
		}
	}
	return clip
}

func wordEnd(s string) int {
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return i
	}
	return len(s)
}

// chomp applies chomping to the text of a block scalar. Text without a final
// line end gets none: the document ends there.
func (c chomping) chomp(s string) string {
	if c == keep {
		return s
	}
	trimmed := strings.TrimRight(s, "\n")
	if c == strip || trimmed == "" || len(trimmed) == len(s) {
		return trimmed
	}
	return trimmed + "\n"
}
