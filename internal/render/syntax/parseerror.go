package syntax

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/finding"
)

// parseErrorText matches errors of package parse: they have a line, no column, and text that may quote the template.
var parseErrorText = regexp.MustCompile(`^template: [^:]*:(\d+):(?:\d+:)? (.*)$`)

// addParseError adds an error of the parser.
func (c *compiler) addParseError(t *Text, err error) {
	e := parseError(t, err)
	if e.Message == missingEnd && t.lead > 0 {
		e = t.broken(finding.NoExpression, t.lead, noExpression)
	}
	var blocks []*Error
	if e.Message == missingEnd {
		blocks = c.unclosed(t)
	}
	for _, block := range blocks {
		c.add(block)
	}
	if len(blocks) == 0 {
		c.locate(t, e)
		c.add(e)
	}
}

// locate makes an error of package parse point at the action that causes it: the first action with which the text cannot be parsed.
func (c *compiler) locate(t *Text, e *Error) {
	if t.lead > 0 {
		t.locateInExpression(e)
		c.foreignSyntax(t, e, 0)
		return
	}
	starts := c.actions(t.Content)
	if len(starts) == 0 || e.Message == missingEnd {
		return
	}
	sound := sort.Search(len(starts)-1, func(i int) bool {
		if c.paused() {
			return true
		}
		_, err := c.tryParse(t.Content[:starts[i+1]])
		return err != nil && parseError(t, err).Message != missingEnd
	})
	line, column := t.Position(starts[sound])
	if e.Line != line && e.Message != notClosed {
		e.Message = fmt.Sprintf("in line %d of the action: %s", e.Line-line+1, e.Message)
	}
	e.Line, e.Column = line, column
	c.foreignSyntax(t, e, starts[sound])
}

// actions returns the offsets of the actions of a text.
func (c *compiler) actions(text string) (starts []int) {
	for at := 0; ; {
		next := strings.Index(text[at:], c.left())
		if next < 0 {
			return starts
		}
		starts = append(starts, at+next)
		_, rest := inAction(text[at+next+len(c.left()):], c.right())
		at = len(text) - len(rest)
	}
}

// missingEnd is the message if it is not known which block has no end.
const missingEnd = "the template ends within a block: an end is missing"

// notClosed is the message at the beginning of an action.
const notClosed = "the action is not closed: its right delimiter is missing"

// mayBeOpen is the hint for actions; expressions have no delimiters.
const mayBeOpen = "; a right delimiter may be missing"

func parseError(t *Text, err error) *Error {
	e := &Error{Template: t.Name, Reason: Invalid, Code: finding.Syntax, Message: OneLine(strings.TrimPrefix(err.Error(), "template: "))}
	if m := parseErrorText.FindStringSubmatch(strings.ReplaceAll(err.Error(), "\n", " ")); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Message = OneLine(plainParseError(m[2]))
	}
	if e.Message == missingEnd {
		e.Code = finding.UnclosedBlock
	}
	return e
}

// plainParseErrors are the errors of package parse that do not suggest a fix.
var plainParseErrors = []struct {
	text  *regexp.Regexp
	plain string
}{
	{regexp.MustCompile(`^unexpected EOF$`), missingEnd},
	{regexp.MustCompile(`^unexpected \{\{end\}\}$`), "unexpected end: no block is open here; remove it"},
	{regexp.MustCompile(`^unclosed action( started at [^:]*:\d+)?$`), notClosed},
	{regexp.MustCompile(`^(.*) in action started at [^:]*:\d+$`), "$1" + mayBeOpen},
}

func plainParseError(text string) string {
	for _, e := range plainParseErrors {
		if e.text.MatchString(text) {
			return e.text.ReplaceAllString(text, e.plain)
		}
	}
	return text
}
