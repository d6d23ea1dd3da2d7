// Package playground renders and lints the texts of the editors in the playground. It needs no client, no network and no files, so that it runs
// in a browser.
package playground

import (
	"fmt"
	"time"

	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/lint/report"
	"github.com/templater-dev/templater/internal/render/finding"
)

// The names of the texts, in places.
const (
	Controllers = "controllers"
	Definitions = "definitions"
	Parents     = "parents"
	Observed    = "observed"
	Related     = "related"
)

const (
	// largestText is how many bytes a text may have: as much as an object that etcd takes, for each of them.
	largestText = 1 << 20
	// mostParents is how many parents are looked at.
	mostParents = 20
	// mostChildren is how many children of a parent are shown, and mostBytes how long their texts are together.
	mostChildren = 200
	mostBytes    = 1 << 20
)

// Request is what the page asks. The texts are YAML or JSON, of as many documents as there are to be, and may be empty.
type Request struct {
	Controllers string `json:"controllers"` // TemplateControllers; CustomResourceDefinitions and parents may stand there, too
	Definitions string `json:"definitions"` // CustomResourceDefinitions
	Parents     string `json:"parents"`
	Observed    string `json:"observed"` // children as they are, by the rules of templater render --observed
	Related     string `json:"related"`  // objects for spec.related to find
	// AllReady takes all children for ready, and Ready those of some entries.
	AllReady bool     `json:"allReady"`
	Ready    []string `json:"ready"`
	// Explain says in the text of children which line of which template each line is from.
	Explain bool `json:"explain"`
	// Time is the clock of the passes, as of RFC 3339; "" is for now.
	Time string `json:"time"`
}

// Answer is what there is to show. Its lists are never null.
type Answer struct {
	// Problems are what stopped something: a text that cannot be read, or a template that fails for this parent.
	Problems []Problem `json:"problems"`
	// Findings are those of templater lint.
	Findings []Finding      `json:"findings"`
	Summary  report.Summary `json:"summary"`
	// Results are what became of each parent.
	Results []Result `json:"results"`
}

// Place is where in a text something is. Line and Column count from 1, the column in characters; 0 means not known.
type Place struct {
	Text   string `json:"text"` // its name, such as "controllers"; "" where it is about none
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
	Length      int              `json:"length"` // in characters; 0 means not known
	Severity    finding.Severity `json:"severity"`
	Code        finding.Code     `json:"code"`
	Title       string           `json:"title"` // of the rule
	Message     string           `json:"message"`
	Replacement string           `json:"replacement"` // for those characters; "" means that nobody can tell
	Page        string           `json:"page"`        // address of what the docs say of the code
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
	sets   map[string]*manifest.Set // by the names of texts
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

// readAll reads all texts, and reports whether they can be worked with.
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

// fail notes an error, which may be a [*manifest.Error].
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

// find notes a finding, unless it is there.
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
