package syntax

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Operands counts the allocations of parsing a template: each action as two, and each name, field, literal, pipe
// and parenthesis in it as one. It never counts less than the parser finds, and is much cheaper. Empty delimiters are {{ and }}.
func Operands(text, left, right string) int {
	left, right = cmp.Or(left, "{{"), cmp.Or(right, "}}")
	if partOfOperand(right[0]) {
		return len(text) // where an action ends takes the parser
	}
	count := 0
	for {
		_, action, found := strings.Cut(text, left)
		if !found {
			return count
		}
		var operands int
		operands, text = inAction(action, right)
		count += 2 + operands
	}
}

// partOfOperand reports whether an operand may contain a byte of the right delimiter after its first character.
func partOfOperand(c byte) bool {
	return c >= utf8.RuneSelf || isAlphaNumeric(rune(c)) || isSpace(c) || strings.IndexByte(".+-=", c) >= 0
}

// inAction counts the operands of the action whose left delimiter a text follows, and returns what follows the action. Quotes and comments may
// hold delimiters.
func inAction(text, right string) (operands int, rest string) {
	if len(text) > 1 && text[0] == '-' && isSpace(text[1]) {
		text = text[2:]
	}
	if comment, found := strings.CutPrefix(text, "/*"); found {
		_, text, _ = strings.Cut(comment, "*/")
	}
	for text != "" {
		rest, closed := strings.CutPrefix(text, right)
		if !closed && len(text) > 1 && isSpace(text[0]) && text[1] == '-' {
			rest, closed = strings.CutPrefix(text[2:], right)
		}
		if closed {
			return operands, rest
		}
		if !isSpace(text[0]) && text[0] != ')' {
			operands++
		}
		text = text[operandLength(text):]
	}
	return operands, ""
}

// operandLength returns the length of the operand at the beginning of a text. A number with a fraction or sign counts as several
// operands.
func operandLength(text string) int {
	switch text[0] {
	case '"', '\'':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case text[0]:
				return i + 1
			}
		}
		return len(text)
	case '`':
		_, rest, _ := strings.Cut(text[1:], "`")
		return len(text) - len(rest)
	}
	first, length := utf8.DecodeRuneInString(text)
	if !isAlphaNumeric(first) && first != '.' && first != '$' {
		return length
	}
	for length < len(text) {
		next, size := utf8.DecodeRuneInString(text[length:])
		if !isAlphaNumeric(next) {
			break
		}
		length += size
	}
	return length
}

func isAlphaNumeric(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
