package document

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/token"
)

// scalar returns the value of a scalar.
func (c *converter) scalar(n *yaml.Node) (any, error) {
	if !c.from.template || !c.x.Has(n.Value) {
		if err := c.x.Keep(len(n.Value)); err != nil {
			return nil, err
		}
		if n.Style&^yaml.FlowStyle != 0 {
			return n.Value, nil
		}
		return resolve(n.Value)
	}
	if c.lacks(n) {
		return missing{}, nil
	}
	if tok := c.x.Whole(n.Value); tok != nil && n.Style == 0 && (tok.Mode == token.AsIs || tok.Mode == token.YAMLScalar) {
		return c.restore(tok)
	}
	return c.text(n)
}

// restore returns the value of a token that is a whole scalar.
func (c *converter) restore(tok *token.Token) (any, error) {
	s, _ := tok.Value.(string)
	if !utf8.ValidString(s) {
		return nil, token.ErrEncoding
	}
	return tok.Value, c.x.Keep(len(s))
}

// text returns the characters of a scalar that contains tokens.
func (c *converter) text(n *yaml.Node) (string, error) {
	if tok := c.x.Whole(n.Value); tok != nil && standsForItself(tok.Mode, n.Style) {
		v, err := c.restore(tok)
		return token.ScalarText(v), err
	}
	block := n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	s, err := c.x.Fill(n.Value, block)
	if err != nil {
		return "", err
	}
	if block {
		how, err := chompingIn(c.x, c.from, n)
		if err != nil {
			return "", err
		}
		s = how.chomp(s)
	}
	return s, c.x.Keep(len(s))
}

// standsForItself reports whether a token that fills a scalar of this style
// represents its value as it is: its encoding is made for these quotes, or for
// none.
func standsForItself(m token.Mode, style yaml.Style) bool {
	switch m {
	case token.AsIs, token.YAMLScalar, token.Verbatim:
	case token.DoubleQuoted:
		return style&yaml.DoubleQuotedStyle != 0
	case token.SingleQuoted:
		return style&yaml.SingleQuotedStyle != 0
	}
	return style == 0
}

// CheckPlain returns why a plain scalar that the author wrote is rejected, or nil.
func CheckPlain(s string) error {
	_, err := resolve(s)
	return err
}

// resolve returns the value of a plain scalar that the author wrote. It rejects
// scalars that the versions of YAML interpret differently.
func resolve(s string) (any, error) {
	if s == "" {
		return nil, nil
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9', c == '+', c == '-', c == '.':
		return resolveNumber(s)
	case c == '~' && len(s) == 1:
		return nil, nil
	}
	if len(s) > len("false") {
		return s, nil
	}
	switch s {
	case "null", "Null", "NULL":
		return nil, nil
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	if token.Ambiguous(s) {
		return nil, errors.New("unquoted " + s + " is a boolean in some versions of YAML; write true or false, or quote it")
	}
	return s, nil
}

// numeric is all characters that these expressions match.
const numeric = "0123456789abcdefABCDEFinINox._+-"

var (
	decimalInt   = regexp.MustCompile(`^[-+]?(0|[1-9][0-9]*)$`)
	decimalFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	hexInt       = regexp.MustCompile(`^[-+]?0x[0-9a-fA-F]+$`)
	// doubtful matches what only some versions of YAML read as a number: octal
	// with 0 or 0o, binary, and grouped digits.
	doubtful = regexp.MustCompile(`^[-+]?(0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0o[0-7]+|0b[01_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*(\.[0-9_]*)?)$`)
	special  = regexp.MustCompile(`^[-+]?\.(inf|Inf|INF)$|^\.(nan|NaN|NAN)$`)
)

func resolveNumber(s string) (any, error) {
	switch {
	case strings.Trim(s, numeric) != "":
		return s, nil // common, such as 100m or 1Gi
	case decimalInt.MatchString(s):
		return token.ParseNumber(s)
	case decimalFloat.MatchString(s):
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, errors.New("the number " + s + " is too large")
		}
		return f, nil
	case hexInt.MatchString(s):
		n, err := strconv.ParseInt(s, 0, 64)
		if err != nil {
			return nil, errors.New("the integer " + s + " does not fit in 64 bits")
		}
		return n, nil
	case doubtful.MatchString(s):
		return nil, errors.New("unquoted " + s + " has different meanings in YAML versions; quote it, or write a decimal number")
	case special.MatchString(s):
		return nil, errors.New("JSON has no number " + s + "; quote it if it is a string")
	}
	return s, nil
}
