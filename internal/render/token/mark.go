package token

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// markSign precedes the number of a mark. Otherwise, a mark is written like a token.
const markSign = "c"

// NewMark returns a mark: text that stands for no characters and can be found in the parsed output. Marks are numbered from 0.
func (t *Table) NewMark() string {
	mark := t.Marker + markSign + strconv.Itoa(t.marks) + string(tokenEnd)
	t.marks++
	return mark
}

// HasMarks reports whether there are marks.
func (t *Table) HasMarks() bool { return t.marks > 0 }

// CommentStart returns the offset of the last # in the last line of text that may begin a comment, or -1. After a letter, as in C#, or
// the end of a token, it is part of a word.
func CommentStart(text []byte) int {
	line := bytes.LastIndexFunc(text, IsLineEnd) + 1
	for i := len(text) - 1; i >= line; i-- {
		if text[i] == '#' && (i == line || !isLetter(text[i-1])) {
			return i
		}
	}
	return -1
}

// IsLineEnd reports whether the YAML library treats the character as a line end.
func IsLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// NextMark splits text at its first mark: the text before it, its number, and the text after it.
func (t *Table) NextMark(text string) (before string, id int, after string, ok bool) {
	before, rest, found := strings.Cut(text, t.Marker+markSign)
	if !found {
		return text, 0, "", false
	}
	number, after, _ := strings.Cut(rest, string(tokenEnd))
	id, err := strconv.Atoi(number)
	return before, id, after, err == nil
}

// Unmarked returns rendered text without marks.
func (t *Table) Unmarked(text string) string {
	if t.marks == 0 || !strings.Contains(text, t.Marker+markSign) {
		return text
	}
	var out strings.Builder
	for {
		before, _, after, ok := t.NextMark(text)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		text = after
	}
}

// Marks returns the numbers of the marks in a text, in order.
func (t *Table) Marks(text string) []int {
	var all []int
	for {
		_, id, after, ok := t.NextMark(text)
		if !ok {
			return all
		}
		all, text = append(all, id), after
	}
}

// escapedMarker matches what YAML may read as a private-use character.
var escapedMarker = regexp.MustCompile(`\\(?:u|U0000)([0-9a-fA-F]{4})`)

// ChooseMarker returns a private-use character that none of the texts contains, not even in escaped form, or "" if they use all of
// them.
func ChooseMarker(texts []string) string {
	used := map[rune]bool{}
	for _, text := range texts {
		for _, r := range text {
			if r >= firstMarker {
				used[r] = true
			}
		}
		for _, m := range escapedMarker.FindAllStringSubmatch(text, -1) {
			r, _ := strconv.ParseUint(m[1], 16, 16)
			used[rune(r)] = true
		}
	}
	r := firstMarker
	for used[r] {
		r++
	}
	if r > lastMarker {
		return ""
	}
	return string(r)
}

// firstMarker is the first character of Unicode's private use area; its 6,400 characters are printable in YAML and have no meaning
// there.
const (
	firstMarker = '\ue000'
	lastMarker  = '\uf8ff'
)
