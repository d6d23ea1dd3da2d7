package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// Reason is the kind of an error.
type Reason string

// The reasons of an [Error].
const (
	// Invalid means that the template is wrong, or does not match its data.
	Invalid Reason = "Invalid"
	// Fail means that the template called fail or required.
	Fail Reason = "Fail"
	// Wait means that the template called wait.
	Wait Reason = "Wait"
	// Missing means that the template needs a field of another object that may be set later.
	Missing Reason = "Missing"
	// Budget means that the template exceeded its budget of work or output.
	Budget Reason = "Budget"
	// Interrupted means that the reconciliation was canceled: see budget.Memory.
	Interrupted Reason = "Interrupted"
)

// Error says what is wrong, where, and what to do. It never contains data, that is, values of the parent, of children or of .values,
// except what the template passed to fail, wait or required.
type Error struct {
	// Template is "children[NAME]", "status", "related[NAME].select" or "helpers".
	Template string
	// Line and Column are positions in the template as written, counted from 1, columns in characters; 0 = not known.
	Line, Column int
	// Length is the number of characters that the error is about; 0 = not known.
	Length int
	Reason Reason
	// Code is the rule that the template violates; "" if the error depends on data.
	Code finding.Code
	// Message is one line of at most 1,024 characters, without a period at the end.
	Message string
	// Replacement is the text to write instead of these characters; "" = not known.
	Replacement string
}

// Finding returns the error as a finding.
func (e *Error) Finding() finding.Finding {
	if e.Code == finding.NotShown {
		return finding.More()
	}
	return finding.Finding{
		Code: e.Code, Severity: finding.Error, Where: e.Template, Line: e.Line, Column: e.Column, Length: e.Length, Message: e.Message, Replacement: e.Replacement,
	}
}

// longestMessage is the maximum length of a message in characters: it may quote the author's text, and the text of fail, wait and
// required may be computed from data.
const longestMessage = 1024

// OneLine returns text of any length as a message.
func OneLine(text string) string {
	// A character has at most four bytes; this limits the work.
	head := Cut(text, min(len(text), longestMessage*utf8.UTFMax))
	line := strings.Join(strings.Fields(head), " ")
	if len(head) == len(text) && utf8.RuneCountInString(line) <= longestMessage {
		return line
	}
	runes := []rune(line)
	return string(runes[:min(len(runes), longestMessage-1)]) + "…"
}

// Error returns template, position and message on one line.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.Template, e.Message)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.Template, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Template, e.Line, e.Column, e.Message)
}

// Errors contains all findings of [Parse], in the order of the templates.
type Errors []*Error

// Error returns all findings on one line, separated by semicolons.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, finding := range e {
		lines[i] = finding.Error()
	}
	return strings.Join(lines, "; ")
}

// Unwrap lets errors.Is and errors.As examine each finding.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, finding := range e {
		all[i] = finding
	}
	return all
}

// ChildName returns the name of a child template in errors.
func ChildName(name string) string { return "children[" + name + "]" }

// ReadyWhenName returns the name of a child template's readyWhen in errors.
func ReadyWhenName(name string) string { return ChildName(name) + ".readyWhen" }

// RelatedName returns the name of an entry of spec.related in errors.
func RelatedName(name string) string { return "related[" + name + "]" }

// statusName is the name of the status template in errors.
const statusName = "status"

// FilterName is the name of spec.watch.filter in errors.
const FilterName = "spec.watch.filter"

// SelectName returns the name of the select template of an entry of spec.related in errors.
func SelectName(name string) string { return RelatedName(name) + ".select" }
