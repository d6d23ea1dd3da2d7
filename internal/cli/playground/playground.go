// Package playground renders and lints the texts of the playground's editors. It needs no client, network or files, so it can run
// in a browser.
package playground

import (
	"fmt"
	"time"

	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/finding"
)

// The names of the texts.
const (
	Controllers = "controllers"
	Definitions = "definitions"
	Parents     = "parents"
	Observed    = "observed"
	Related     = "related"
)

const (
	// largestText is the maximum size of a text in bytes: that of an object in etcd.
	largestText = 1 << 20
	// mostParents is the maximum number of parents.
	mostParents = 20
	// mostChildren is the maximum number of children shown for a parent, and mostBytes their maximum total size.
	mostChildren = 200
	mostBytes    = 1 << 20
)

// Request is a request of the page. The texts are YAML or JSON with any number of documents, and can be empty.
type Request struct {
	Controllers string `json:"controllers"` // TemplateControllers; can also contain CustomResourceDefinitions and parents
	Definitions string `json:"definitions"` // CustomResourceDefinitions
	Parents     string `json:"parents"`
	Observed    string `json:"observed"` // live children, as for templater render --observed
	Related     string `json:"related"`  // objects for spec.related
	// AllReady treats all children as ready, and Ready those of some child templates.
	AllReady bool     `json:"allReady"`
	Ready    []string `json:"ready"`
	// Explain adds comments to children with the template line of each field.
	Explain bool `json:"explain"`
	// Time is the current time for reconciliations (RFC 3339); "" = now.
	Time string `json:"time"`
}

// Answer is the response to the page. Its lists are never null.
type Answer struct {
	// Problems are errors: unreadable texts, and templates that fail for a parent.
	Problems []Problem `json:"problems"`
	// Findings are the findings of templater lint.
	Findings []Finding      `json:"findings"`
	Summary  report.Summary `json:"summary"`
	// Results has one result per parent.
	Results []Result `json:"results"`
}

// Place is a place in a text. Line and Column start at 1, the column in characters; 0 = unknown.
type Place struct {
	Text   string `json:"text"` // its name, such as "controllers"; "" = none
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Problem is a message with its place.
type Problem struct {
	Place
	Message string `json:"message"`
}

// Finding is a finding with its place.
type Finding struct {
	Place
	Length      int              `json:"length"` // in characters; 0 = unknown
	Severity    finding.Severity `json:"severity"`
	Code        finding.Code     `json:"code"`
	Title       string           `json:"title"` // of the rule
	Message     string           `json:"message"`
	Replacement string           `json:"replacement"` // suggested text; "" = none
	Page        string           `json:"page"`        // URL of the docs of the code
}

func answer() Answer {
	return Answer{Problems: []Problem{}, Findings: []Finding{}, Results: []Result{}}
}

// builder makes one answer.
type builder struct {
	Request
	*Session
	answer Answer
	now    time.Time
	sets   map[string]*manifest.Set // by text name
}

func (b *builder) run() {
	if !b.readAll() {
		return
	}
	checked, err := b.check([]*manifest.Set{b.sets[Controllers], b.sets[Definitions], b.sets[Parents], b.sets[Observed], b.sets[Related]})
	if err != nil {
		b.fail(err)
		return
	}
	for _, l := range checked.located {
		b.find(l)
	}
	b.answer.Summary = checked.summary
	b.renderAll(checked.controllers)
}

// readAll reads all texts, and reports whether they are usable.
func (b *builder) readAll() bool {
	b.sets = map[string]*manifest.Set{}
	for _, of := range []struct{ name, text string }{
		{Controllers, b.Controllers}, {Definitions, b.Definitions}, {Parents, b.Parents}, {Observed, b.Observed}, {Related, b.Related},
	} {
		if len(of.text) > largestText {
			b.problem(&manifest.Error{File: of.name, Message: fmt.Sprintf("larger than %d MiB, the limit of the playground", largestText>>20)})
			continue
		}
		set, err := b.read(of.name, of.text)
		if err != nil {
			b.fail(err)
		}
		b.sets[of.name] = set
	}
	b.now = time.Now()
	if b.Time != "" {
		at, err := time.Parse(time.RFC3339, b.Time)
		if err != nil {
			b.fail(fmt.Errorf("invalid time: write one such as 2026-01-31T12:00:00Z"))
		}
		b.now = at
	}
	return len(b.answer.Problems) == 0
}

// fail adds an error, possibly a [*manifest.Error].
func (b *builder) fail(err error) {
	if e, ok := err.(*manifest.Error); ok { //nolint:errorlint // package manifest wraps none
		b.problem(e)
		return
	}
	b.answer.Problems = append(b.answer.Problems, Problem{Message: err.Error()})
}

func (b *builder) problem(e *manifest.Error) {
	b.answer.Problems = append(b.answer.Problems, Problem{Place{e.File, e.Line, e.Column}, e.Message})
}

// find adds a finding, unless it exists.
func (b *builder) find(l report.Located) {
	f := Finding{
		Place: Place{l.File, l.FileLine, l.FileColumn}, Length: l.Length, Severity: l.Severity, Code: l.Code, Message: l.Message,
		Replacement: l.Replacement, Page: finding.Page(l.Code),
	}
	if rule, known := finding.Lookup(l.Code); known {
		f.Title = rule.Title
	}
	for _, there := range b.answer.Findings {
		if there == f {
			return
		}
	}
	b.answer.Findings = append(b.answer.Findings, f)
}
