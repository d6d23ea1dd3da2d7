package finding

import (
	"cmp"
	"slices"
	"strings"
)

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

// rules are all there are, in order. Each part of them has a file of its own.
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
