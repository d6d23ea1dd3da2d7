package report

import (
	"encoding/json"
	"io"

	"github.com/templater-dev/templater/internal/render/finding"
)

// jsonReport is the format of JSON, documented in docs/reference/commands/lint.md. Fields are only added.
type jsonReport struct {
	Findings []jsonFinding `json:"findings"`
	Summary  Summary       `json:"summary"`
}

// jsonFinding is a finding in JSON.
type jsonFinding struct {
	File               string           `json:"file"`
	Line               int              `json:"line,omitempty"`
	Column             int              `json:"column,omitempty"`
	Length             int              `json:"length,omitempty"`
	TemplateController string           `json:"templateController"`
	Where              string           `json:"where"`
	WhereLine          int              `json:"whereLine,omitempty"`
	WhereColumn        int              `json:"whereColumn,omitempty"`
	Severity           finding.Severity `json:"severity"`
	Code               finding.Code     `json:"code"`
	Message            string           `json:"message"`
	Replacement        string           `json:"replacement,omitempty"`
	Page               string           `json:"page"`
}

// JSON writes one object with all findings.
func JSON(w io.Writer, all []Located, summary Summary) error {
	r := jsonReport{Findings: make([]jsonFinding, len(all)), Summary: summary}
	for i, l := range all {
		r.Findings[i] = jsonFinding{
			File: l.File, Line: l.FileLine, Column: l.FileColumn, Length: l.Length, TemplateController: l.TemplateController,
			Where: l.Where, WhereLine: l.Line, WhereColumn: l.Column,
			Severity: l.Severity, Code: l.Code, Message: l.Message, Replacement: l.Replacement, Page: finding.Page(l.Code),
		}
	}
	return WriteJSON(w, r)
}

// WriteJSON writes indented JSON.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
