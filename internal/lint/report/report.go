// Package report prints lint findings as text with source lines, as JSON, and as SARIF. It needs no client.
package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/templater-dev/templater/internal/render/finding"
)

// Source is the source text of a TemplateController.
type Source interface {
	// Place returns the place in a file of a place in a template, or of a field of the TemplateController: line and column, from 1.
	// Column 0 means that only the line is known.
	Place(where string, line, column int) (file string, fileLine, fileColumn int)
	// SourceLine returns a line of the file, or "" if it does not belong to the TemplateController.
	SourceLine(fileLine int) string
}

// Located is a finding with its place in a file.
type Located struct {
	// TemplateController is the name of the TemplateController.
	TemplateController string
	finding.Finding
	// File is "-" for standard input. FileLine and FileColumn start at 1, the column in characters; 0 = unknown.
	File                 string
	FileLine, FileColumn int
	// Text is the text of that line.
	Text string
}

// Locate adds places in the file to the findings of a TemplateController.
func Locate(controller string, source Source, all []finding.Finding) []Located {
	located := make([]Located, len(all))
	for i, f := range all {
		l := Located{TemplateController: controller, Finding: f}
		l.File, l.FileLine, l.FileColumn = source.Place(f.Where, f.Line, f.Column)
		l.Text = source.SourceLine(l.FileLine)
		switch {
		case f.Column == 0 && f.Line > 0:
			l.FileColumn = 0 // the place is the start of the line, and the column is unknown
		case f.Line == 0:
			l.Length = key(l.Text, l.FileColumn)
		}
		located[i] = l
	}
	return located
}

// key returns the length of the mapping key in a line, in characters.
func key(text string, column int) int {
	runes := []rune(text)
	if column < 1 || column > len(runes) {
		return 0
	}
	n := 0
	for _, r := range runes[column-1:] {
		if r == ':' || unicode.IsSpace(r) {
			break
		}
		n++
	}
	return n
}

// Sort sorts findings by file and place.
func Sort(all []Located) {
	slices.SortStableFunc(all, func(a, b Located) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.FileLine, b.FileLine), cmp.Compare(a.FileColumn, b.FileColumn), cmp.Compare(a.Code, b.Code))
	})
}

// Summary counts TemplateControllers and findings.
type Summary struct {
	TemplateControllers int `json:"templateControllers"`
	Errors              int `json:"errors"`
	Warnings            int `json:"warnings"`
	// UnknownKinds are kinds without a schema, whose fields were not checked.
	UnknownKinds []string `json:"unknownKinds,omitempty"`
}

// Summarize counts the findings of the given number of TemplateControllers.
func Summarize(controllers int, all []Located, unknownKinds []string) Summary {
	s := Summary{TemplateControllers: controllers, UnknownKinds: unknownKinds}
	for _, l := range all {
		if l.Severity == finding.Error {
			s.Errors++
		} else {
			s.Warnings++
		}
	}
	return s
}

// plain replaces control and invisible characters of a text.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
