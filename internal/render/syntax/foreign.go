package syntax

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// foreign has syntax of other languages, and what to write instead. The first group is the text that it reports.
var foreign = []struct {
	text *regexp.Regexp
	hint string
}{
	{regexp.MustCompile(`(==)`), "templates have no operators: write eq A B"},
	{regexp.MustCompile(`(!=)`), "templates have no operators: write ne A B"},
	{regexp.MustCompile(`(&&)`), "templates have no operators: write and A B"},
	{regexp.MustCompile(`(\|\|)`), "templates have no operators: write or A B"},
	{regexp.MustCompile(`(>=)`), "templates have no operators: write ge A B"},
	{regexp.MustCompile(`(<=)`), "templates have no operators: write le A B"},
	{regexp.MustCompile(`(>)`), "templates have no operators: write gt A B"},
	{regexp.MustCompile(`(<)`), "templates have no operators: write lt A B"},
	{regexp.MustCompile(`(!)`), "templates have no operators: write not A"},
	{regexp.MustCompile(`(\?)`), "templates have no operators: write ternary A B CONDITION"},
	{regexp.MustCompile(`\s(\+)\s`), "templates have no operators: write add A B"},
	{regexp.MustCompile(`\s(-)\s+[^}\s]`), "templates have no operators: write sub A B"},
	{regexp.MustCompile(`\s(\*)\s`), "templates have no operators: write mul A B"},
	{regexp.MustCompile(`\s(/)\s`), "templates have no operators: write div A B"},
	{regexp.MustCompile(`\s(%)\s`), "templates have no operators: write mod A B"},
	{regexp.MustCompile(`[\w)](\[)`), "templates have no brackets: write index LIST 0 or index MAP \"key\""},
	{regexp.MustCompile(`('[^']*'?)`), "text has double quotes"},
	{regexp.MustCompile(`\w(\.\x01+)`), "a key in quotes cannot follow a dot: write index MAP \"key\""},
	{regexp.MustCompile(`(")`), "the text has no second quote"},
	{regexp.MustCompile(`^\W*(\w+)\s*:?=[^=]`), "names of variables begin with $"},
}

// hyphenated matches a path with a key that has a hyphen.
var hyphenated = regexp.MustCompile(`([$\w]*(?:\.\w+)*)\.(\w+(?:-\w+)+)`)

// literal matches text in quotes.
var literal = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|`[^`]*`")

// foreignSyntax makes a syntax error point at syntax of another language in the action that begins at an offset in the content, if there is any, and
// suggests what to write instead.
func (c *compiler) foreignSyntax(t *Text, e *Error, from int) {
	if e.Code != finding.Syntax {
		return
	}
	action := t.Content[from:]
	if t.lead == 0 {
		if strings.Contains(e.Message, mayBeOpen) || e.Message == notClosed {
			return // more than an action
		}
		from += len(c.left())
		_, rest := inAction(t.Content[from:], c.right())
		action = strings.TrimSuffix(t.Content[from:len(t.Content)-len(rest)], c.right())
	}
	action = literal.ReplaceAllStringFunc(action, func(text string) string { return strings.Repeat("\x01", len(text)) })
	hint, start, end := "", len(action), 0
	if m := hyphenated.FindStringSubmatchIndex(action); m != nil {
		path := cmp.Or(action[m[2]:m[3]], ".")
		hint, start, end = "a key with a hyphen cannot follow a dot: write index", m[0], m[1]
		e.Replacement = fmt.Sprintf("(index %s %q)", path, action[m[4]:m[5]])
	}
	for _, each := range foreign {
		if m := each.text.FindStringSubmatchIndex(action); m != nil && m[2] < start {
			hint, start, end, e.Replacement = each.hint, m[2], m[3], ""
		}
	}
	if hint != "" {
		e.Line, e.Column = t.Position(from + start + t.lead)
		e.Length, e.Message = utf8.RuneCountInString(action[start:end]), hint
	}
}
