// Package explain prints the docs of functions, keys and actions of templates, fields of TemplateControllers, conditions
// and their reasons, and codes of findings: templater explain. It needs no cluster.
package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/templater-dev/templater/docs"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Kind is what a word is.
type Kind string

// The kinds of words, in the order of lists.
const (
	Function  Kind = "function"
	Key       Kind = "key"
	Action    Kind = "action"
	Field     Kind = "field"
	Condition Kind = "condition"
	Reason    Kind = "reason"
	Code      Kind = "code"
)

// Kinds are all of them.
var Kinds = []Kind{Function, Key, Action, Field, Condition, Reason, Code}

// Entry explains one word.
type Entry struct {
	Kind  Kind   `json:"kind"`
	Name  string `json:"name"`
	About string `json:"about"`          // one line
	More  string `json:"more,omitempty"` // lines
}

// all are the entries, by kind, and then in the order of their source.
var all = sync.OnceValue(func() []Entry {
	return slices.Concat(functions(), keys(), actions(), fields(), conditions(), reasons(), codes())
})

// All returns every entry.
func All() []Entry { return slices.Clone(all()) }

var inBrackets = regexp.MustCompile(`\[[^]]*\]`)

// Find returns the entries of a word, in whatever case it is written. A path of templates, such as .children.db, stands for its
// first key, and the last part of the path of a field for all fields that are called so where nothing else is.
func Find(word string) []Entry {
	word = inBrackets.ReplaceAllString(word, "")
	if strings.HasPrefix(word, ".") {
		key, _, _ := strings.Cut(word[1:], ".")
		word = "." + key
	}
	exact := func(equal func(a, b string) bool) (found []Entry) {
		for _, e := range all() {
			if equal(e.Name, word) || e.Kind == Key && equal(e.Name, "."+word) {
				found = append(found, e)
			}
		}
		return found
	}
	if found := exact(func(a, b string) bool { return a == b }); len(found) > 0 {
		return found
	}
	if found := exact(strings.EqualFold); len(found) > 0 {
		return found
	}
	return slices.DeleteFunc(All(), func(e Entry) bool {
		return e.Kind != Field || !strings.HasSuffix(strings.ToLower(e.Name), "."+strings.ToLower(word))
	})
}

// Nearest returns the known word that is most like another one, or "".
func Nearest(word string) string {
	var names []string
	for _, e := range all() {
		names = append(names, e.Name)
	}
	return syntax.Nearest(word, names)
}

// functions explains those of templates, also those that are not there.
func functions() []Entry {
	var entries []Entry
	for _, f := range funcs.All() {
		e := Entry{Kind: Function, Name: f.Name, About: f.Doc}
		if f.Refused != "" {
			e.About = "not there: " + f.Refused
			entries = append(entries, e)
			continue
		}
		e.More = "Takes " + arguments(f.Min, f.Max) + ". Comes from " + f.Source + "."
		if f.Nil {
			e.More += "\nIts arguments may be missing."
		} else if f.Max != 0 {
			e.More += "\nA missing argument is an error: set a default."
		}
		entries = append(entries, e)
	}
	return entries
}

// arguments says how many a function takes.
func arguments(least, most int) string {
	word := "arguments"
	if most == 1 || most < 0 && least == 1 {
		word = "argument"
	}
	switch {
	case most == 0:
		return "no arguments"
	case most < 0:
		return fmt.Sprintf("at least %d %s", least, word)
	case least == most:
		return fmt.Sprintf("%d %s", least, word)
	}
	return fmt.Sprintf("%d to %d %s", least, most, word)
}

// keys explains what templates see at the root.
func keys() []Entry {
	var entries []Entry
	for _, row := range rows(docs.Templates, "## What a template sees") {
		for _, m := range inBackticks.FindAllStringSubmatch(row[0], -1) {
			path := m[1]
			key, _, _ := strings.Cut(strings.TrimPrefix(path, "."), ".")
			entries = append(entries, Entry{Kind: Key, Name: "." + key, About: plain(row[1]), More: "Written as " + path + "."})
		}
	}
	return entries
}

// actions explains those of templates.
func actions() []Entry {
	var entries []Entry
	for _, row := range rows(docs.Templates, "## Actions") {
		entries = append(entries, Entry{Kind: Action, Name: plain(row[0]), About: plain(row[1]), More: "For example: " + plain(row[2])})
	}
	return entries
}

// conditions explains those of a TemplateController.
func conditions() []Entry {
	var entries []Entry
	for _, row := range rows(docs.Troubleshooting, "## What the conditions say") {
		e := Entry{Kind: Condition, Name: plain(row[0]), About: plain(row[1])}
		var names []string
		for _, reason := range rows(docs.Troubleshooting, reasonsOfControllers) {
			if m := reasonName.FindStringSubmatch(reason[1]); reason[0] == e.Name && m != nil {
				names = append(names, m[1])
			}
		}
		if len(names) > 0 {
			e.More = "Reasons: " + strings.Join(slices.Compact(names), ", ") + "."
		}
		entries = append(entries, e)
	}
	return entries
}

const reasonsOfControllers = "## Conditions of a TemplateController"

// reasons explains those of conditions.
func reasons() []Entry {
	var entries []Entry
	for _, row := range rows(docs.Troubleshooting, reasonsOfControllers) {
		entries = append(entries, reasonsIn(row[1], "Condition "+row[0]+" of a TemplateController", row[2], row[3])...)
	}
	for _, row := range rows(docs.Troubleshooting, "## Ready condition of a parent, and Events") {
		entries = append(entries, reasonsIn(row[0], "Ready condition of a parent, or Event", row[1], row[2])...)
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

var (
	inBackticks = regexp.MustCompile("`([^`]+)`")
	reasonName  = regexp.MustCompile("`([A-Z][A-Za-z]+)`")
)

// reasonsIn returns the entries of the reasons that a cell names.
func reasonsIn(cell, where, means, remedy string) []Entry {
	var entries []Entry
	rest := strings.Trim(reasonName.ReplaceAllString(cell, ""), " ,")
	if rest != "" {
		where += ", " + plain(rest)
	}
	for _, m := range reasonName.FindAllStringSubmatch(cell, -1) {
		entries = append(entries, Entry{Kind: Reason, Name: m[1], About: plain(means), More: where + ".\nWhat to do: " + plain(remedy)})
	}
	return entries
}

// codes explains those of findings.
func codes() []Entry {
	var entries []Entry
	for _, r := range finding.Rules() {
		entries = append(entries, Entry{
			Kind: Code, Name: string(r.Code), About: plain(r.Title),
			More: fmt.Sprintf("Severity: %s.\n%s\nWhat to do: %s\n%s", r.Severity, plain(r.Why), plain(r.Mend), finding.Page(r.Code)),
		})
	}
	return entries
}
