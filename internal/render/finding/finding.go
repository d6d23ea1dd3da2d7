// Package finding defines lint findings, and the table of lint rules with their codes.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is whether a finding is an error or a warning.
type Severity string

// The severities.
const (
	// Error means that the TemplateController cannot work. The operator rejects it.
	Error Severity = "error"
	// Warning means that the TemplateController works, but probably not as intended.
	Warning Severity = "warning"
)

// Code identifies a rule: TL and three digits. The meaning of a code never changes.
type Code string

// Finding is one problem in a TemplateController. It may quote the author's templates, but never values of objects.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Where is the template, such as children[pod], status, related[x].select or helpers, or else the path of a
	// field, such as spec.resyncPeriod.
	Where string `json:"where"`
	// Line and Column are positions in the template as written, counted from 1, columns in characters. Length is the number of
	// characters that the finding is about. 0 means that it is not known, or that the finding is not about a place in a text.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	Length int `json:"length,omitempty"`
	// Message is one line without a period at the end: what is wrong, and what to do.
	Message string `json:"message"`
	// Replacement is the text to write instead of these characters; "" = not known.
	Replacement string `json:"replacement,omitempty"`
}

// String returns place and message on one line, as in conditions.
func (f Finding) String() string {
	switch {
	case f.Line == 0:
		return fmt.Sprintf("%s: %s", f.Where, f.Message)
	case f.Column == 0:
		return fmt.Sprintf("%s:%d: %s", f.Where, f.Line, f.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.Where, f.Line, f.Column, f.Message)
}

// Sort sorts findings: errors first, then by position in the templates. It removes duplicates. A finding of code More is last.
func Sort(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(notShown(a), notShown(b)), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code))
	})
	return slices.Compact(all)
}

// notShown returns 1 for a finding of code More, which is last, and 0 for others.
func notShown(f Finding) int {
	if f.Code == NotShown {
		return 1
	}
	return 0
}

// mostShown is the maximum number of findings shown for one TemplateController.
const mostShown = 500

// More returns the finding that there are more findings than are shown.
func More() Finding {
	return Finding{Code: NotShown, Severity: Warning, Where: "spec", Message: "more findings are omitted: fix these first"}
}

// Bounded returns at most this many of the sorted findings. If some are omitted, now or before, the last one says so.
func Bounded(all []Finding) []Finding {
	shown := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Code == NotShown })
	if len(shown) == len(all) && len(all) <= mostShown {
		return all
	}
	return append(shown[:min(len(shown), mostShown)], More())
}

// Of returns the findings of this severity.
func Of(severity Severity, all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Severity != severity })
}

// Rule describes a code.
type Rule struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Title names the problem in a few words.
	Title string `json:"title"`
	// Why describes the consequences, and Fix what to do. They are complete sentences, and may contain `code`.
	Why string `json:"why"`
	Fix string `json:"fix"`
}

// rules are all rules, in order of their codes.
var rules = sorted(ofTemplates, ofSpecs, ofTypes, ofOutlines, ofFiles)

func sorted(parts ...[]Rule) []Rule {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

// Rules returns all rules, in order of their codes.
func Rules() []Rule { return slices.Clone(rules) }

// Lookup returns the rule of a code.
func Lookup(code Code) (Rule, bool) {
	i, found := slices.BinarySearchFunc(rules, code, func(r Rule, code Code) int { return cmp.Compare(r.Code, code) })
	if !found {
		return Rule{}, false
	}
	return rules[i], true
}

// Page returns the URL of the documentation of a code.
func Page(code Code) string {
	return "https://github.com/templater-dev/templater/blob/main/docs/reference/findings.md#" + strings.ToLower(string(code))
}
