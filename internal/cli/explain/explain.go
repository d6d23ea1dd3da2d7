// Package explain documents functions, keys and actions of templates, fields of TemplateControllers, conditions
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

// Kind is the kind of a name.
type Kind string

// The kinds, in the order of the output.
const (
	Function  Kind = "function"
	Key       Kind = "key"
	Action    Kind = "action"
	Object    Kind = "kind"
	Field     Kind = "field"
	Condition Kind = "condition"
	Reason    Kind = "reason"
	Code      Kind = "code"
)

// Kinds are all kinds.
var Kinds = []Kind{Function, Key, Action, Object, Field, Condition, Reason, Code}

// Entry explains one name.
type Entry struct {
	Kind  Kind   `json:"kind"`
	Name  string `json:"name"`
	About string `json:"about"`          // one line
	More  string `json:"more,omitempty"` // lines

	aliases []string // other names
}

// all are the entries by kind, in the order of their source.
var all = sync.OnceValue(func() []Entry {
	return slices.Concat(functions(), keys(), actions(), objects(), fields(), conditions(), reasons(), codes())
})

// All returns every entry.
func All() []Entry { return slices.Clone(all()) }

var inBrackets = regexp.MustCompile(`\[[^]]*\]`)

// Find returns the entries with a name, ignoring case. A path of a template, such as .children.db, finds its
// first key. A field name without its path finds all fields with that name, if nothing else matches.
func Find(word string) []Entry {
	word = inBrackets.ReplaceAllString(word, "")
	if strings.HasPrefix(word, ".") {
		key, _, _ := strings.Cut(word[1:], ".")
		word = "." + key
	}
	exact := func(equal func(a, b string) bool) (found []Entry) {
		for _, e := range all() {
			if equal(e.Name, word) || e.Kind == Key && equal(e.Name, "."+word) || slices.ContainsFunc(e.aliases, func(alias string) bool { return equal(alias, word) }) {
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

// Nearest returns the most similar known name, or "".
func Nearest(word string) string {
	var names []string
	for _, e := range all() {
		names = append(names, e.Name)
	}
	return syntax.Nearest(word, names)
}

// functions explains the template functions, including unsupported ones.
func functions() []Entry {
	var entries []Entry
	for _, f := range funcs.All() {
		e := Entry{Kind: Function, Name: f.Name, About: f.Doc}
		if f.Refused != "" {
			e.About = "unavailable: " + f.Refused
			entries = append(entries, e)
			continue
		}
		e.More = signature(&f)
		if example := examples()[f.Same]; example != "" {
			e.More += "\nFor example: " + strings.Replace(example, f.Same, f.Name, 1)
		}
		e.More += "\nComes from " + f.Source + "."
		if f.Nil {
			e.More += "\nThe values of its arguments may be missing."
		} else if f.Max != 0 {
			e.More += "\nA missing value is an error: set a default."
		}
		entries = append(entries, e)
	}
	return entries
}

var inBackticks = regexp.MustCompile("`([^`]+)`")

// keys explains the root keys of templates.
func keys() []Entry {
	var entries []Entry
	for _, row := range rows(docs.Templates, "## What a template can read") {
		for _, m := range inBackticks.FindAllStringSubmatch(row[0], -1) {
			path := m[1]
			key, _, _ := strings.Cut(strings.TrimPrefix(path, "."), ".")
			entries = append(entries, Entry{Kind: Key, Name: "." + key, About: plain(row[1]), More: "Written as " + path + "."})
		}
	}
	return entries
}

// actions explains the actions of templates.
func actions() []Entry {
	var entries []Entry
	for _, row := range rows(docs.Templates, "## Actions") {
		entries = append(entries, Entry{Kind: Action, Name: plain(row[0]), About: plain(row[1]), More: "For example: " + plain(row[2])})
	}
	return entries
}

// conditions explains the conditions of a TemplateController.
func conditions() []Entry {
	var entries []Entry
	reasons := sections(docs.Reasons, reasonsOfControllers)
	for _, row := range rows(docs.Reasons, "## Conditions") {
		e := Entry{Kind: Condition, Name: plain(row[0]), About: plain(row[1])}
		var names []string
		for _, s := range reasons {
			if where, _ := s.where(); strings.Contains(where, "`"+e.Name+"`") {
				names = append(names, s.title)
			}
		}
		if slices.Sort(names); len(names) > 0 {
			e.More = "Reasons: " + strings.Join(names, ", ") + "."
		}
		entries = append(entries, e)
	}
	return entries
}

const reasonsOfControllers = "## Reasons of a TemplateController"

// reasons explains the reasons of conditions.
func reasons() []Entry {
	var entries []Entry
	for _, s := range sections(docs.Reasons, reasonsOfControllers) {
		where, about := s.where()
		entries = append(entries, s.entry(where+" of a TemplateController", about))
	}
	for _, s := range sections(docs.Reasons, "## Reasons of a parent") {
		entries = append(entries, s.entry("Ready condition of a parent, or Event", s.paragraphs[0]))
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries
}

// where splits the first paragraph of a reason of TemplateControllers into its first sentence, which names the conditions, and the rest.
func (s section) where() (conditions, rest string) {
	conditions, rest, _ = strings.Cut(s.paragraphs[0], ". ")
	return conditions, rest
}

// entry returns the entry for the reason in the title of a section.
func (s section) entry(where, about string) Entry {
	more := append([]string{where + "."}, s.paragraphs[1:]...)
	return Entry{Kind: Reason, Name: s.title, About: plain(about), More: plain(strings.Join(more, "\n"))}
}

// codes explains the codes of lint findings.
func codes() []Entry {
	var entries []Entry
	for _, r := range finding.Rules() {
		entries = append(entries, Entry{
			Kind: Code, Name: string(r.Code), About: plain(r.Title),
			More: fmt.Sprintf("Severity: %s.\n%s\nWhat to do: %s\n%s", r.Severity, plain(r.Why), plain(r.Fix), finding.Page(r.Code)),
		})
	}
	return entries
}
