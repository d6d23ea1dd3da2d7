// Package report prints lint findings as text with source lines, as JSON, and as SARIF. It needs no client.
package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/templater-dev/templater/internal/render/finding"
)

// Source is the text that a TemplateController was read from.
type Source interface {
	// Place returns where in a file a place in a template, or a field of the TemplateController, is: a line and a column, from 1.
	// A column of 0 means that only the line is known.
	Place(where string, line, column int) (file string, fileLine, fileColumn int)
	// SourceLine returns a line of that file, or "" if it is none of the TemplateController.
	SourceLine(fileLine int) string
}

// Located is a finding with its place in a file.
type Located struct {
	// TemplateController is its name.
	TemplateController string
	finding.Finding
	// File is "-" for the standard input. FileLine and FileColumn count from 1, the column in characters; 0 means not known.
	File                 string
	FileLine, FileColumn int
	// Text is that line of the file.
	Text string
}

// Locate finds the places of the findings of a TemplateController.
func Locate(controller string, source Source, all []finding.Finding) []Located {
	located := make([]Located, len(all))
	for i, f := range all {
		l := Located{TemplateController: controller, Finding: f}
		l.File, l.FileLine, l.FileColumn = source.Place(f.Where, f.Line, f.Column)
		l.Text = source.SourceLine(l.FileLine)
		switch {
		case f.Column == 0 && f.Line > 0:
			l.FileColumn = 0 // that is where the line begins, and nobody knows what in it is wrong
		case f.Line == 0:
			l.Length = key(l.Text, l.FileColumn)
		}
		located[i] = l
	}
	return located
}

// key returns how many characters the key of a mapping has that stands in a line.
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

// Sort puts findings in the order of the files.
func Sort(all []Located) {
	slices.SortStableFunc(all, func(a, b Located) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.FileLine, b.FileLine), cmp.Compare(a.FileColumn, b.FileColumn), cmp.Compare(a.Code, b.Code))
	})
}

// Summary is how much was looked at, and how much was found.
type Summary struct {
	TemplateControllers int `json:"templateControllers"`
	Errors              int `json:"errors"`
	Warnings            int `json:"warnings"`
	// UnknownKinds are those whose fields nobody knows, so that they were not checked.
	UnknownKinds []string `json:"unknownKinds,omitempty"`
}

// Summarize counts the findings in that many TemplateControllers.
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

// plain returns text of which nothing can move the cursor of a terminal, or hide.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
