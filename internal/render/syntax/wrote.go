package syntax

import "strings"

// Has reports whether a word stands in the text by itself.
func (t *Text) Has(word string) bool { return standsIn(t.Content, word) }

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
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("_-./", c) >= 0
}
