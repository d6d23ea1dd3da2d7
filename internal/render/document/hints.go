package document

import (
	"fmt"
	"strings"
)

const (
	tabs         = "this line is indented with a tab: use spaces"
	anchors      = "a value that begins with & or * is a YAML anchor or alias: quote it"
	escapes      = `\ begins an escape between double quotes: write \\ for a backslash, or use single quotes`
	tags         = "a value that begins with ! is a tag: quote it"
	header       = "only chomping and indentation indicators can follow | and >: the text begins on the next line"
	furtherRight = "this line is indented deeper than %s, which already has a value: use the same indentation for both"
	question     = "? begins a complex mapping key: quote it"
)

// QuotesInQuotes is the hint for double quotes that the output between them closes.
const QuotesInQuotes = `the output of this action contains double quotes, as toJson and quote print them, which end the quotes around it: use single quotes around the action for text, or no quotes for the value itself`

// empty is the hint for a line {} or [] between keys.
const empty = "%s is between keys here, because toYaml prints empty maps and lists this way: put the action between {{ with … }} and {{ end }}"

// isEmpty reports whether a line is an empty map or list.
func isEmpty(line string) bool {
	line = strings.TrimSpace(line)
	return line == "{}" || line == "[]"
}

// hints maps messages of the library to functions that return a hint. It does not change after init.
var hints map[string]func(*explainer) string

func init() {
	hints = map[string]func(*explainer) string{
		"mapping values are not allowed in this context":               value,
		"did not find expected key":                                    key,
		"could not find expected ':'":                                  noColon,
		"did not find expected '-' indicator":                          noItem,
		"did not find expected ',' or ']'":                             unclosed("["),
		"did not find expected ',' or '}'":                             unclosed("{"),
		"found character that cannot start any token":                  character,
		"found unexpected end of stream":                               quotes,
		"found unexpected document indicator":                          quotes,
		"did not find expected <document start>":                       behindDocument,
		"block sequence entries are not allowed in this context":       always("an item of a list cannot begin in the middle of a line: begin the list in the line below its key, or quote text that begins with -"),
		"did not find expected node content":                           content,
		"mapping keys are not allowed in this context":                 always(question),
		"did not find expected alphabetic or numeric character":        anchor,
		"found unknown escape character":                               always(escapes),
		"did not find expected hexadecimal number":                     always(escapes),
		"did not find expected comment or line break":                  always(header),
		"found a comment without preceding whitespace":                 always(header),
		"found undefined tag handle":                                   always(tags),
		"did not find expected tag URI":                                always(tags),
		"did not find expected '!'":                                    always(tags),
		"did not find expected whitespace or line break":               always(tags),
		"found a tab character that violates indentation":              always(tabs),
		"found a tab character where an indentation space is expected": always(tabs),
	}
}

func always(hint string) func(*explainer) string {
	return func(*explainer) string { return hint }
}

func anchor(*explainer) string { return anchors }

// value explains a colon where none is allowed.
func value(e *explainer) string {
	line := e.Line(e.at.line)
	if hint := e.braces(e.at.line); hint != "" {
		return hint
	}
	if before := e.before(); strings.Contains(before, ": ") {
		return "the value contains a colon followed by a space: quote the value"
	}
	n := e.above(e.at.line, everything)
	if n == 0 {
		return ""
	}
	above := e.Line(n)
	switch got, has := keyed(above); {
	case !has && strings.Contains(above, ":"):
		e.look = place{n, indentation(above) + 1}
		return "the colon after this key needs a space after it"
	case !has:
		e.look = place{n, indentation(above) + 1}
		return "this line has no colon after its key, or it is text that needs quotes"
	case got != "" && indentation(line) > indentation(above):
		e.look = place{e.at.line, indentation(line) + 1}
		return fmt.Sprintf(furtherRight, e.Name(n))
	}
	return "this line is indented too deep, or quotes are missing"
}

// key explains something that is not a key of a mapping.
func key(e *explainer) string {
	before, behind := e.before(), e.behind()
	if strings.TrimSpace(before) != "" {
		return e.trailing(before)
	}
	indent := len(before)
	n := e.above(e.at.line, everything)
	switch {
	case n == 0:
		return ""
	case isEmpty(behind):
		return fmt.Sprintf(empty, strings.TrimSpace(behind))
	case isEmpty(e.Line(n)):
		e.look = place{n, indentation(e.Line(n)) + 1}
		return fmt.Sprintf(empty, strings.TrimSpace(e.Line(n)))
	case strings.HasPrefix(behind, "- ") || behind == "-":
		return e.item(indent, n)
	case indentation(e.Line(n)) < indent:
		return fmt.Sprintf(furtherRight, e.Name(n))
	}
	outer := e.above(e.at.line, func(text string) bool { return indentation(text) <= indent })
	if outer == 0 || outer == n {
		return fmt.Sprintf("this line is not a key of the mapping above: compare its indentation with that of %s", e.Name(n))
	}
	return fmt.Sprintf("this line is indented by %d, which matches neither %s (%d) nor %s (%d)", indent, e.Name(n), indentation(e.Line(n)), e.Name(outer), indentation(e.Line(outer)))
}

// item explains a list item where a key is expected. n is the line above.
func (e *explainer) item(indent, n int) string {
	isItem := func(text string) bool { return strings.HasPrefix(strings.TrimSpace(text)+" ", "- ") }
	if other := e.above(e.at.line, isItem); other > 0 && indentation(e.Line(other)) > indent {
		return fmt.Sprintf("this item is indented by %d, and that of %s by %d: indent all items of a list by the same amount", indent, e.Name(other), indentation(e.Line(other)))
	}
	return fmt.Sprintf("an item of a list instead of a key: %s already has a value, so no list can follow it", e.Name(n))
}

// trailing explains text after a value on the same line.
func (e *explainer) trailing(before string) string {
	if hint := e.braces(e.at.line); hint != "" {
		return hint
	}
	switch before = strings.TrimSpace(before); before[len(before)-1] {
	case '"', '\'':
		return "unexpected text after the closing quote: quote the whole value"
	case ']', '}':
		return "unexpected text after the closing bracket: quote the value if it is a string"
	}
	return ""
}

// noColon explains a line that should be a key.
func noColon(e *explainer) string {
	if e.from.line > 0 {
		e.look = e.from
	} else {
		e.look = e.at
	}
	line := e.Line(e.look.line)
	switch {
	case isEmpty(line):
		return fmt.Sprintf(empty, strings.TrimSpace(line))
	case e.braces(e.look.line) != "":
		return e.braces(e.look.line)
	case strings.Contains(line, ":"):
		return "the colon after a key needs a space after it"
	}
	return "this line has no colon after its key, or it continues a multi-line string and is not indented enough"
}

// noItem explains something that is not a list item.
func noItem(e *explainer) string {
	if before := e.before(); strings.TrimSpace(before) != "" {
		return e.trailing(before)
	}
	if e.from.line == 0 {
		return ""
	}
	return fmt.Sprintf("an item of the list that begins with %s is expected here: begin it with -, or indent it deeper if it belongs to the item above", e.Name(e.from.line))
}

// unclosed explains brackets of the given kind that are not closed.
func unclosed(bracket string) func(*explainer) string {
	return func(e *explainer) string {
		if e.from.line == 0 {
			return ""
		}
		if hint := e.braces(e.from.line); hint != "" {
			e.look = e.from
			return hint
		}
		if e.from.line != e.at.line {
			e.look = e.from
			return fmt.Sprintf("the %s here is not closed, or a comma is missing after an item", bracket)
		}
		return fmt.Sprintf("the %s before it is not closed, or a comma is missing", bracket)
	}
}

// character explains a character that nothing can begin with.
func character(e *explainer) string {
	switch behind := e.behind(); {
	case strings.HasPrefix(behind, "\t"):
		return tabs
	case behind != "":
		return fmt.Sprintf("no value can begin with %c: quote it", []rune(behind)[0])
	}
	return ""
}

// quotes explains quotes that are never closed.
func quotes(e *explainer) string {
	if e.from.line == 0 {
		return ""
	}
	e.look = e.from
	return "the quotes that begin here are never closed"
}

// content explains brackets and commas without a value.
func content(e *explainer) string {
	if hint := e.braces(e.at.line); hint != "" {
		return hint
	}
	return "a value is missing here, or there is an extra comma or bracket; text that begins with one of these needs quotes"
}

// behindDocument explains text after the end of a document.
func behindDocument(e *explainer) string {
	if strings.TrimSpace(e.before()) != "" {
		return e.trailing(e.before())
	}
	n := e.above(e.at.line, everything)
	if n > 0 && indentation(e.Line(n)) > len(e.before()) {
		return "this line is indented less than the first one of its document: indent it the same way, or begin another document with ---"
	}
	return "the document ended before this line: indent it, or begin another document with ---"
}
