package syntax

import (
	"iter"
	"strings"
)

// Has reports whether a word stands in the text by itself.
func (t *Text) Has(word string) bool { return standsIn(t.Content, word) }

// Words yields the words that stand in the text by themselves, and the parts of each between dots, such as the keys of .spec.name.
func (t *Text) Words() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(t.Content); i++ {
			from := i
			for inWord(t.Content, i) {
				i++
			}
			if from < i && !yieldParts(t.Content[from:i], yield) {
				return
			}
		}
	}
}

func yieldParts(word string, yield func(string) bool) bool {
	if !yield(word) {
		return false
	}
	for part := range strings.SplitSeq(word, ".") {
		if part != "" && part != word && !yield(part) {
			return false
		}
	}
	return true
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
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("_-./", c) >= 0
}
