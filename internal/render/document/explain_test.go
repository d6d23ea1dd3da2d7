package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// explained parses text and returns the position and message of its fault, or "" if it is valid YAML.
func explained(text string) string {
	var n yaml.Node
	err := yaml.Unmarshal([]byte(text), &n)
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return ""
	}
	lines := strings.Split(text, "\n")
	line := func(n int) string {
		if n < 1 || n > len(lines) {
			return ""
		}
		return lines[n-1]
	}
	f := Explain(load, Lines{Line: line, Name: func(n int) string { return fmt.Sprintf("line %d", n) }})
	return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f)
}

// TestYAMLErrorsHaveHints covers common mistakes.
func TestYAMLErrorsHaveHints(t *testing.T) {
	for text, want := range map[string]string{
		// Indentation.
		"a:\n  b: 1\n   c: 2":    "3:4: this line is indented deeper than line 2, which already has a value: use the same indentation for both (mapping values are not allowed in this context)",
		"a: 1\n  b: 2":           "2:3: this line is indented deeper than line 1, which already has a value: use the same indentation for both (mapping values are not allowed in this context)",
		"a:\n    b: 1\n  c: 2":   "3:3: this line is indented by 2, which matches neither line 2 (4) nor line 1 (0) (did not find expected key)",
		"a:\n- b\n  - c\n - d":   "",
		"a:\n  - b\n - c":        "3:2: this item is indented by 1, and that of line 2 by 2: indent all items of a list by the same amount (did not find expected key)",
		"  a: 1\nb: 2":           "2:1: this line is indented less than the first one of its document: indent it the same way, or begin another document with --- (did not find expected <document start>)",
		"a: 1\n- b":              "2:1: an item of a list instead of a key: line 1 already has a value, so no list can follow it (did not find expected key)",
		"- a: 1\n   b: 2":        "2:4: this line is indented deeper than line 1, which already has a value: use the same indentation for both (mapping values are not allowed in this context)",
		"- a: 1\n b: 2":          "2:2: an item of the list that begins with line 1 is expected here: begin it with -, or indent it deeper if it belongs to the item above (did not find expected '-' indicator)",
		"a:\n\tb: 1":             "2:1: this line is indented with a tab: use spaces (found character that cannot start any token)",
		"a:\n  b: 1\n\tc: 2":     "3:1: this line is indented with a tab: use spaces (found a tab character that violates indentation)",
		"a:\n  b:\n\t- c":        "3:1: this line is indented with a tab: use spaces (found character that cannot start any token)",
		"- a\nb: 1":              "2:1: an item of the list that begins with line 1 is expected here: begin it with -, or indent it deeper if it belongs to the item above (did not find expected '-' indicator)",
		"a: |\n    b\n  c\nd: 1": "3:3: this line is indented by 2, which matches neither line 2 (4) nor line 1 (0) (did not find expected key)",
		// Colons.
		"a\nb: 1":           "1:1: this line has no colon after its key, or it is text that needs quotes (mapping values are not allowed in this context)",
		"a: 1\nb\nc: 2":     "2:1: this line has no colon after its key, or it continues a multi-line string and is not indented enough (could not find expected ':')",
		"a: 1\nb:2\nc: 3":   "2:1: the colon after a key needs a space after it (could not find expected ':')",
		"a: b: c":           "1:5: the value contains a colon followed by a space: quote the value (mapping values are not allowed in this context)",
		"a:\n  b: 1\n  c\n": "3:3: this line has no colon after its key, or it continues a multi-line string and is not indented enough (could not find expected ':')",
		"a 1\nb: 2":         "1:1: this line has no colon after its key, or it is text that needs quotes (mapping values are not allowed in this context)",
		"a: http://x: y":    "1:12: the value contains a colon followed by a space: quote the value (mapping values are not allowed in this context)",
		// Quotes.
		"a: \"b\nc: 1\n":     "1:4: the quotes that begin here are never closed (found unexpected end of stream)",
		"a: 'b\nc: 1\n---\n": "1:4: the quotes that begin here are never closed (found unexpected document indicator)",
		"a: \"b\" c":         "1:8: unexpected text after the closing quote: quote the whole value (did not find expected key)",
		"a: 'b'c":            "1:7: unexpected text after the closing quote: quote the whole value (did not find expected key)",
		"a: \"\\d\"":         "1:5: \\ begins an escape between double quotes: write \\\\ for a backslash, or use single quotes (found unknown escape character)",
		"a: \"\\xzz\"":       "1:7: \\ begins an escape between double quotes: write \\\\ for a backslash, or use single quotes (did not find expected hexadecimal number)",
		// Brackets.
		"a: [1, 2\nb: 1":            "1:4: the [ here is not closed, or a comma is missing after an item (did not find expected ',' or ']')",
		"a: {b: 1\nc: 2":            "1:4: the { here is not closed, or a comma is missing after an item (did not find expected ',' or '}')",
		"a: [1 2: 3]]":              "1:12: unexpected text after the closing bracket: quote the value if it is a string (did not find expected key)",
		"a: {b: 1} c":               "1:11: unexpected text after the closing bracket: quote the value if it is a string (did not find expected key)",
		"a: [1,,2]":                 "1:7: a value is missing here, or there is an extra comma or bracket; text that begins with one of these needs quotes (did not find expected node content)",
		"a: ]":                      "1:4: a value is missing here, or there is an extra comma or bracket; text that begins with one of these needs quotes (did not find expected node content)",
		"a: {{ .x }}":               "",
		"a: {{ .x }}-b":             "1:12: a value that begins with {{ needs quotes around it (did not find expected key)",
		"a: {{ .x }}: b":            "1:12: a value that begins with {{ needs quotes around it (mapping values are not allowed in this context)",
		"a: {{ quote .x }}\nb: 1":   "",
		"a: {{ printf \"%s\" .x }}": "",
		"- {{ .x }} b":              "1:12: a value that begins with {{ needs quotes around it (did not find expected '-' indicator)",
		// Characters with a meaning.
		"a: @b":     "1:4: no value can begin with @: quote it (found character that cannot start any token)",
		"a: `b`":    "1:4: no value can begin with `: quote it (found character that cannot start any token)",
		"a: %b":     "1:4: no value can begin with %: quote it (found character that cannot start any token)",
		"a: *b":     "1:4: a value that begins with & or * is a YAML anchor or alias: quote it (unknown anchor 'b' referenced)",
		"a: *.b.c":  "1:4: a value that begins with & or * is a YAML anchor or alias: quote it (unknown anchor '.b.c' referenced)",
		"a: &":      "1:5: a value that begins with & or * is a YAML anchor or alias: quote it (did not find expected alphabetic or numeric character)",
		"a: !":      "",
		"a: !x!y z": "1:4: a value that begins with ! is a tag: quote it (found undefined tag handle)",
		"a: ? b":    "1:4: ? begins a complex mapping key: quote it (mapping keys are not allowed in this context)",
		"a: - b":    "1:4: an item of a list cannot begin in the middle of a line: begin the list in the line below its key, or quote text that begins with - (block sequence entries are not allowed in this context)",
		"a: |b":     "1:5: only chomping and indentation indicators can follow | and >: the text begins on the next line (did not find expected comment or line break)",
		"a: >- b\n": "1:7: only chomping and indentation indicators can follow | and >: the text begins on the next line (did not find expected comment or line break)",
		"a: |#b":    "1:5: only chomping and indentation indicators can follow | and >: the text begins on the next line (found a comment without preceding whitespace)",
		// Documents.
		"a: 1\n...\nb": "",
		"\"a\" b":      "1:5: unexpected text after the closing quote: quote the whole value (did not find expected <document start>)",
	} {
		if got := explained(text); got != want {
			t.Errorf("%q\ngot  %s\nwant %s", text, got, want)
		}
	}
}

func TestDocumentSeparators(t *testing.T) {
	for line, want := range map[string]bool{
		"": true, "\n": true, "\r\n": true, " ": true, "\t# x": true, " {a: b}\n": true,
		"-": false, ".": false, "a": false, "#": false, "\v": false,
	} {
		if got := BeginsDocument("---" + line); got != want {
			t.Errorf("---%q begins a document: %v, want %v", line, got, want)
		}
		if got := EndsDocument("..." + line); got != want {
			t.Errorf("...%q ends a document: %v, want %v", line, got, want)
		}
	}
	for _, line := range []string{"", "--", " ---", "a", "..", " ..."} {
		if BeginsDocument(line) || EndsDocument(line) {
			t.Errorf("%q stands between documents", line)
		}
	}
	if BeginsDocument("...") || EndsDocument("---") {
		t.Error("the two are taken for each other")
	}
}
