// Package finding has the type of lint findings, and the table of lint rules with their codes.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity tells what a finding stops.
type Severity string

// The severities.
const (
	// Error means that the TemplateController cannot work: the operator does not accept it.
	Error Severity = "error"
	// Warning means that the TemplateController works, and probably not as its author wants.
	Warning Severity = "warning"
)

// Code names a rule: TL and three digits. What a code means never changes.
type Code string

// Finding is one thing that is wrong. It holds words of the author's templates, and never a value of an object.
type Finding struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Where is the template, such as children[pod], status, related[x].select or helpers, or else the path of a
	// field, such as spec.resyncPeriod.
	Where string `json:"where"`
	// Line and Column are 1-based in that template as its author wrote it, the column counted in characters. Length
	// is how many characters it is about. 0 means not known, or that it is about no place in a text.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	Length int `json:"length,omitempty"`
	// Message is one line without a final full stop: what is wrong, and what to do.
	Message string `json:"message"`
	// Replacement is what to write in place of those characters; "" means that nobody can tell.
	Replacement string `json:"replacement,omitempty"`
}

// String returns place and message on one line, as conditions show them.
func (f Finding) String() string {
	switch {
	case f.Line == 0:
		return fmt.Sprintf("%s: %s", f.Where, f.Message)
	case f.Column == 0:
		return fmt.Sprintf("%s:%d: %s", f.Where, f.Line, f.Message)
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.Where, f.Line, f.Column, f.Message)
}

// Sort puts findings in order: by severity, errors first, then as they stand in the templates. It keeps one of those
// that are the same. That there are more is last.
func Sort(all []Finding) []Finding {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(notShown(a), notShown(b)), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Where, b.Where), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Code, b.Code))
	})
	return slices.Compact(all)
}

// notShown is 1 for the finding that there are more, which is last, and else 0.
func notShown(f Finding) int {
	if f.Code == NotShown {
		return 1
	}
	return 0
}

// mostShown is how many findings of one TemplateController are shown.
const mostShown = 500

// More says that there are more findings than are shown.
func More() Finding {
	return Finding{Code: NotShown, Severity: Warning, Where: "spec", Message: "more findings are omitted: fix these first"}
}

// Bounded returns sorted findings up to a number. If it leaves some out, or some were left out before, the last one says so.
func Bounded(all []Finding) []Finding {
	shown := slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Code == NotShown })
	if len(shown) == len(all) && len(all) <= mostShown {
		return all
	}
	return append(shown[:min(len(shown), mostShown)], More())
}

// Of returns the findings of a severity.
func Of(severity Severity, all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return f.Severity != severity })
}

// Rule is what a code stands for.
type Rule struct {
	Code     Code     `json:"code"`
	Severity Severity `json:"severity"`
	// Title says what is wrong, in a few words.
	Title string `json:"title"`
	// Why says what comes of it, and Mend what to do. They are whole sentences, and may have words in `backticks`.
	Why  string `json:"why"`
	Mend string `json:"mend"`
}

// rules are all there are, in order.
var rules = sorted(ofTemplates, ofSpecs, ofTypes, ofKinds)

func sorted(parts ...[]Rule) []Rule {
	all := slices.Concat(parts...)
	slices.SortFunc(all, func(a, b Rule) int { return cmp.Compare(a.Code, b.Code) })
	return all
}

// Rules returns all rules, by their codes.
func Rules() []Rule { return slices.Clone(rules) }

// Lookup returns the rule of a code.
func Lookup(code Code) (Rule, bool) {
	i, found := slices.BinarySearchFunc(rules, code, func(r Rule, code Code) int { return cmp.Compare(r.Code, code) })
	if !found {
		return Rule{}, false
	}
	return rules[i], true
}

// Page returns the address of what the docs say of a code.
func Page(code Code) string {
	return "https://github.com/templater-dev/templater/blob/main/docs/reference/findings.md#" + strings.ToLower(string(code))
}
