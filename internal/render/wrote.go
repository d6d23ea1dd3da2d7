package render

import "strings"

// Wrote reports whether the author of the templates wrote a word: it stands
// in one of them by itself. A key of what they yield that is no such word came
// from data or was computed from it, so no message may hold it.
func (p *Program) Wrote(word string) bool {
	for _, t := range p.texts {
		if standsIn(t.content, word) {
			return true
		}
	}
	return false
}

func standsIn(text, word string) bool {
	for from := 0; word != ""; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		at := from + i
		if !inWord(text, at-1) && !inWord(text, at+len(word)) {
			return true
		}
		from = at + 1
	}
	return false
}

// inWord reports whether the byte at that place may belong to a longer key.
func inWord(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return isLetter(c) || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("_-./", c) >= 0
}
