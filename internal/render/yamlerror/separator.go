package yamlerror

import "strings"

// BeginsDocument reports whether a line of YAML, with its end or without, begins a document: with three hyphens. What stands behind
// them belongs to the document.
func BeginsDocument(line string) bool { return marks(line, "---") }

// EndsDocument reports whether a line of YAML, with its end or without, ends a document: with three dots.
func EndsDocument(line string) bool { return marks(line, "...") }

// marks reports whether a line begins with the mark, and not with a longer word.
func marks(line, mark string) bool {
	rest, ok := strings.CutPrefix(line, mark)
	return ok && (rest == "" || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}
