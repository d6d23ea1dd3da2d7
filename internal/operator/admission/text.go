package admission

import (
	"fmt"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
)

// The size of an answer. The API server passes on 4096 characters of warnings, and cuts each of them at 256 if there are more.
const (
	mostErrors     = 10
	mostWarnings   = 10
	longestWarning = 256  // bytes
	longestLine    = 1024 // bytes, of an error
)

// denial says why a TemplateController is refused, each error with the line of the template that it is about.
func denial(tc *v1.TemplateController, errors []finding.Finding) string {
	var out []string
	for i, f := range errors {
		if i == mostErrors {
			out = append(out, fmt.Sprintf("and %d more", len(errors)-mostErrors))
			break
		}
		out = append(out, object.Line(f.String(), longestLine)+" ["+string(f.Code)+"]")
		if line := lineOf(tc, f); line != "" {
			shown, marks := report.Caret(line, f.Column, f.Length, f.Replacement)
			number := fmt.Sprintf("%5d |", f.Line)
			out = append(out, number+" "+shown, strings.Repeat(" ", len(number)-1)+"| "+marks)
		}
	}
	return strings.Join(out, "\n")
}

// lineOf returns the line of a template that a finding is about, or "".
func lineOf(tc *v1.TemplateController, f finding.Finding) string {
	lines := strings.Split(spec.Template(&tc.Spec, f.Where), "\n")
	if f.Line < 1 || f.Line > len(lines) {
		return ""
	}
	return lines[f.Line-1]
}

// stopped ends the line of an error that was there before, which does not keep anybody from writing.
const stopped = ": templater does not accept this spec until this is fixed"

// warnings returns all findings of a TemplateController that may be written as the lines that kubectl shows. Its errors were there
// before.
func warnings(all []finding.Finding) []string {
	var out []string
	for i, f := range all {
		if i == mostWarnings {
			out = append(out, fmt.Sprintf("and %d more: see the condition Linted", len(all)-mostWarnings))
			break
		}
		out = append(out, warning(f))
	}
	return out
}

func warning(f finding.Finding) string {
	if f.Severity != finding.Error {
		return object.Line(f.String(), longestWarning)
	}
	end := " [" + string(f.Code) + "]" + stopped
	return object.Line("error, as before: "+f.String(), longestWarning-len(end)) + end
}
