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

// Size limits of a response. The API server returns at most 4096 characters of warnings, and truncates each one to 256
// if there are more.
const (
	maxErrors        = 10
	maxWarnings      = 10
	maxWarningLength = 256  // bytes
	maxErrorLength   = 1024 // bytes, of an error
)

// denial returns the message of a denied TemplateController: each error with the line of the template that it is about.
func denial(tc *v1.TemplateController, errors []finding.Finding) string {
	var out []string
	for i, f := range errors {
		if i == maxErrors {
			out = append(out, fmt.Sprintf("and %d more", len(errors)-maxErrors))
			break
		}
		out = append(out, object.Line(f.String(), maxErrorLength)+" ["+string(f.Code)+"]")
		if line := lineOf(tc, f); line != "" {
			shown, marks := report.Caret(line, f.Column, f.Length, f.Replacement)
			number := fmt.Sprintf("%5d |", f.Line)
			out = append(out, number+" "+shown, strings.Repeat(" ", len(number)-1)+"| "+marks)
		}
	}
	return strings.Join(out, "\n")
}

// lineOf returns the line of the template that a lint finding is about, or "".
func lineOf(tc *v1.TemplateController, f finding.Finding) string {
	lines := strings.Split(spec.Template(&tc.Spec, f.Where), "\n")
	if f.Line < 1 || f.Line > len(lines) {
		return ""
	}
	return lines[f.Line-1]
}

// stopped is appended to an existing error, which does not prevent the write.
const stopped = ": templater does not accept this spec until this is fixed"

// warnings returns all lint findings of a TemplateController that is allowed, as warnings for kubectl. Its errors
// already existed in the previous version.
func warnings(all []finding.Finding) []string {
	var out []string
	for i, f := range all {
		if i == maxWarnings {
			out = append(out, fmt.Sprintf("and %d more: see the Linted condition", len(all)-maxWarnings))
			break
		}
		out = append(out, warning(f))
	}
	return out
}

func warning(f finding.Finding) string {
	if f.Severity != finding.Error {
		return object.Line(f.String(), maxWarningLength)
	}
	end := " [" + string(f.Code) + "]" + stopped
	return object.Line("existing error: "+f.String(), maxWarningLength-len(end)) + end
}
