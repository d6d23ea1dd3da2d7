package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// suppression is a comment that suppresses the warnings of a code in a line.
type suppression struct {
	line, column, length int // of the comment; line and column from 1
	target               int // line whose warnings it suppresses
	code                 finding.Code
	reason               string
	used                 bool
}

// suppressing matches a YAML comment, or a comment of a template.
var suppressing = regexp.MustCompile(`(?:^|\s)(#\s*templater:ignore(?:\s.*)?)$|(/\*-?\s*templater:ignore(?:\s.*?)?)\*/`)

// suppressions returns the suppressions in the lines of a text. A comment after other text is about its own line, any other about the next line
// that is neither blank nor a comment.
func suppressions(lines []string) []*suppression {
	var all, waiting []*suppression
	for i, line := range lines {
		m := suppressing.FindStringSubmatchIndex(line)
		if m == nil {
			if text := strings.TrimSpace(line); text != "" && text[0] != '#' {
				for _, s := range waiting {
					s.target = i + 1
				}
				waiting = nil
			}
			continue
		}
		from, to := max(m[2], m[4]), max(m[3], m[5])
		_, text, _ := strings.Cut(line[from:to], "templater:ignore")
		code, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
		before := line[:from]
		s := &suppression{
			line: i + 1, column: utf8.RuneCountInString(before) + 1, length: utf8.RuneCountInString(line[from:to]),
			target: i + 1, code: finding.Code(code), reason: strings.TrimSpace(reason),
		}
		if !strings.ContainsFunc(before, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			waiting = append(waiting, s)
		}
		all = append(all, s)
	}
	return all
}

// suppresses reports whether a finding is suppressed, and marks the suppression as used. Errors cannot be suppressed.
func suppresses(all []*suppression, f finding.Finding, line int) (found bool) {
	for _, s := range all {
		if line > 0 && s.target == line && s.code == f.Code && f.Severity == finding.Warning {
			s.used, found = true, true
		}
	}
	return found
}

// unsuppressed splits the findings of a TemplateController into those that no comment in its templates suppresses, and the others.
func unsuppressed(tc *v1.TemplateController, all []finding.Finding) (shown, suppressed []finding.Finding) {
	known := map[string][]*suppression{}
	for _, f := range all {
		in, read := known[f.Where]
		if !read {
			in = suppressions(strings.Split(templateOf(&tc.Spec, f.Where), "\n"))
			known[f.Where] = in
		}
		if suppresses(in, f, f.Line) {
			suppressed = append(suppressed, f)
		} else {
			shown = append(shown, f)
		}
	}
	return shown, suppressed
}

// templateOf returns the template that findings call where, or "".
func templateOf(spec *v1.TemplateControllerSpec, where string) string {
	switch where {
	case "helpers":
		return spec.Helpers
	case "status":
		if spec.Status != nil {
			return spec.Status.Template
		}
	}
	children := spec.Children
	if spec.Finalize != nil {
		children = slices.Concat(children, spec.Finalize.Children)
	}
	for i := range children {
		if where == syntax.ChildName(children[i].Name) {
			return children[i].Template
		}
	}
	return ""
}

// suppressIn removes the suppressed findings of a document. It adds warnings about suppressions without a reason, and, if whole, about unused ones.
func suppressIn(c *manifest.Controller, all []report.Located, whole bool) []report.Located {
	first, lines := c.Lines()
	in := suppressions(lines)
	all = slices.DeleteFunc(all, func(l report.Located) bool { return suppresses(in, l.Finding, l.FileLine-first+1) })
	for _, s := range in {
		if message := s.fault(whole); message != "" {
			all = append(all, report.Located{
				TemplateController: c.TemplateController.Key(), File: c.File, FileLine: first + s.line - 1, FileColumn: s.column, Text: lines[s.line-1],
				Finding: finding.Finding{Code: finding.Suppression, Severity: finding.Warning, Where: "file", Length: s.length, Message: message},
			})
		}
	}
	return all
}

// fault returns what is wrong with a suppression, or "". whole means that all its warnings are known.
func (s *suppression) fault(whole bool) string {
	_, known := finding.Lookup(s.code)
	switch {
	case !known:
		return "suppression without a code: write a code and a reason, as in # templater:ignore TL039 admission sets the field"
	case s.reason == "":
		return fmt.Sprintf("suppression without a reason: write why after %s", s.code)
	case whole && !s.used:
		return fmt.Sprintf("unused suppression: no warning %s here; remove the comment", s.code)
	}
	return ""
}

// suppressed applies the suppressions in the documents of a set. Findings of each TemplateController are in the order of the set. incomplete tells of
// which TemplateControllers not all warnings are known.
func suppressed(set *manifest.Set, findings [][]report.Located, incomplete []bool) (all []report.Located) {
	for i := 0; i < len(findings); {
		of, partial := set.Controllers[i], false
		var here []report.Located
		for ; i < len(findings) && set.Controllers[i].SameDocument(of); i++ {
			here, partial = append(here, findings[i]...), partial || incomplete[i]
		}
		all = append(all, suppressIn(of, here, !partial)...)
	}
	return all
}
