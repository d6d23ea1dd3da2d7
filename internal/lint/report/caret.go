package report

import (
	"strings"
)

// widest is the maximum number of characters of a line.
const widest = 160

// Caret returns a line of a text, and below it a line that marks length characters from a column: ^^^^ and the replacement. A
// column of 0 marks the whole line. Long lines are truncated around the place. Unprintable characters are replaced.
func Caret(line string, column, length int, replacement string) (shown, marks string) {
	runes := []rune(plain(strings.TrimRight(line, " \t\r\n")))
	from := max(column-1, 0)
	if column == 0 {
		for from < len(runes) && (runes[from] == ' ' || runes[from] == '\t') {
			from++
		}
		length = len(runes) - from
	}
	from = min(from, len(runes))
	length = max(1, min(length, len(runes)-from))
	runes, from = cut(runes, from)
	length = max(1, min(length, len(runes)-from))
	var b strings.Builder
	for _, r := range runes[:from] {
		if r != '\t' { // to align with the line above
			r = ' '
		}
		b.WriteRune(r)
	}
	b.WriteString(strings.Repeat("^", length))
	if replacement != "" {
		b.WriteString(" " + plain(replacement))
	}
	return string(runes), b.String()
}

// cut truncates a line around a place.
func cut(runes []rune, from int) ([]rune, int) {
	if len(runes) <= widest {
		return runes, from
	}
	begin := min(max(0, from-widest/3), len(runes)-widest)
	part := append([]rune(nil), runes[begin:begin+widest]...)
	if begin > 0 {
		part[0] = '…'
	}
	if begin+widest < len(runes) {
		part[widest-1] = '…'
	}
	return part, from - begin
}
