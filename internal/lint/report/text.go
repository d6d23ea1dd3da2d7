package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/render/finding"
)

// Text writes each finding with its place and source line, and counts at the end.
func Text(w io.Writer, paint Colors, all []Located, summary Summary) error {
	var b bytes.Buffer
	for _, l := range all {
		fmt.Fprintf(&b, "%s %s %s %s\n", paint.Bold(plain(l.place())+":"), color(paint, l.Severity, string(l.Severity)+":"), plain(l.Message), paint.Faint("["+string(l.Code)+"]"))
		if l.Text == "" {
			continue
		}
		line, marks := Caret(l.Text, l.FileColumn, l.Length, l.Replacement)
		number := fmt.Sprintf("%5d", l.FileLine)
		fmt.Fprintf(&b, "%s %s\n", paint.Faint(number+" |"), line)
		fmt.Fprintf(&b, "%s %s\n", paint.Faint(strings.Repeat(" ", len(number))+" |"), color(paint, l.Severity, marks))
	}
	for _, kind := range summary.UnknownKinds {
		fmt.Fprintf(&b, "%s no schema for %s: its fields were not checked; pass its CustomResourceDefinition with --schemas, or use --cluster\n", paint.Cyan("note:"), plain(kind))
	}
	fmt.Fprintln(&b, summary.String())
	_, err := w.Write(b.Bytes())
	return err
}

// place returns file, line and column.
func (l Located) place() string {
	file := l.File
	if file == "-" {
		file = "standard input"
	}
	switch {
	case l.FileLine == 0:
		return file
	case l.FileColumn == 0:
		return fmt.Sprintf("%s:%d", file, l.FileLine)
	}
	return fmt.Sprintf("%s:%d:%d", file, l.FileLine, l.FileColumn)
}

func color(paint Colors, severity finding.Severity, text string) string {
	if severity == finding.Error {
		return paint.Red(text)
	}
	return paint.Yellow(text)
}

// String returns the summary as a sentence.
func (s Summary) String() string {
	found := "no findings"
	if s.Errors+s.Warnings > 0 {
		found = problem.Count(s.Errors, "error", "errors") + " and " + problem.Count(s.Warnings, "warning", "warnings")
	}
	return problem.Count(s.TemplateControllers, "TemplateController", "TemplateControllers") + ": " + found
}
