package render

import (
	"fmt"
	"strings"
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
	// Budget means that the template asked for too much work or output.
	Budget Reason = "Budget"
)

// Error says what is wrong, where, and what to do. It never holds data, that
// is, values of the parent, of children or of .values, except for what the
// author handed to fail, wait or required.
type Error struct {
	// Template is "children[NAME]", "status" or "helpers".
	Template string
	// Line and Column are 1-based in that template as the author wrote it,
	// the column counted in characters; 0 means unknown.
	Line, Column int
	Reason       Reason
	// Message is one line without a final full stop.
	Message string
}

// Error returns template, position and message on one line.
func (e *Error) Error() string {
	message := strings.Join(strings.Fields(e.Message), " ")
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.Template, message)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.Template, e.Line, message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Template, e.Line, e.Column, message)
}

// Errors holds every finding of [Compile], in the order of the templates.
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
