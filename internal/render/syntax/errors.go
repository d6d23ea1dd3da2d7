package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// Reason tells kinds of errors apart.
type Reason string

// The reasons of an [Error].
const (
	// Invalid means that the template is wrong, or its data does not fit.
	Invalid Reason = "Invalid"
	// Fail means that the author's template called fail or required.
	Fail Reason = "Fail"
	// Wait means that the author's template called wait.
	Wait Reason = "Wait"
	// Missing means that the template needs a field of another object that may be filled in later.
	Missing Reason = "Missing"
	// Budget means that the template asked for too much work or output.
	Budget Reason = "Budget"
	// Interrupted means that the pass was ended from outside: see budget.Memory.
	Interrupted Reason = "Interrupted"
)

// Error says what is wrong, where, and what to do. It never holds data, that
// is, values of the parent, of children or of .values, except for what the
// author handed to fail, wait or required.
type Error struct {
	// Template is "children[NAME]", "status", "related[NAME].select" or "helpers".
	Template string
	// Line and Column are 1-based in that template as the author wrote it,
	// the column counted in characters; 0 means unknown.
	Line, Column int
	// Length is how many characters it is about; 0 means unknown.
	Length int
	Reason Reason
	// Code names the rule that a template breaks; "" where it takes data to find out.
	Code finding.Code
	// Message is one line of at most 1,024 characters, without a final full
	// stop.
	Message string
	// Replacement is what to write in place of those characters; "" means that nobody can tell.
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

// longestMessage bounds a message in characters: it may quote the author's
// text, and what fail, wait and required say may be computed from data.
const longestMessage = 1024

// OneLine makes a message of text of any length.
func OneLine(text string) string {
	// A character has at most four bytes; this bounds the work.
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

// Errors holds every finding of [Parse], in the order of the templates.
type Errors []*Error

// Error returns all findings on one line, separated by semicolons.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, finding := range e {
		lines[i] = finding.Error()
	}
	return strings.Join(lines, "; ")
}

// Unwrap lets errors.Is and errors.As look at each finding.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, finding := range e {
		all[i] = finding
	}
	return all
}

// ChildName returns how errors name the template of a child.
func ChildName(name string) string { return "children[" + name + "]" }

// ReadyWhenName returns how errors name the readyWhen of a child.
func ReadyWhenName(name string) string { return ChildName(name) + ".readyWhen" }

// RelatedName returns how errors name an entry of related.
func RelatedName(name string) string { return "related[" + name + "]" }

// statusName is how errors name the template of the status.
const statusName = "status"

// FilterName is how errors name the expression that tells which objects are parents.
const FilterName = "spec.watch.filter"

// SelectName returns how errors name the select template of an entry of related.
func SelectName(name string) string { return RelatedName(name) + ".select" }
