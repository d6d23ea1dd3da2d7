package types

import (
	"cmp"
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// What a check may cost. What is beyond is not looked at, and nothing is said of it.
const (
	MaxSteps = 200_000 // nodes of templates, each as often as it is looked at
	MaxNotes = 500
	MaxChain = 40 // of define blocks that call each other
)

// Place is where something stands in a template.
type Place struct {
	Text           *syntax.Text
	Offset, Length int        // in bytes of what is parsed
	Node           parse.Node // what it is, where that tells the length
}

// Spot is a place without its length.
type Spot struct {
	Text   *syntax.Text
	Offset int
}

// Spot returns where it begins.
func (p Place) Spot() Spot { return Spot{p.Text, p.Offset} }

// End returns the offset behind it.
func (p Place) End() int {
	if p.Node != nil {
		return p.Offset + len(p.Node.String())
	}
	return p.Offset + p.Length
}

// Note is what may become a finding: what is missing is one only where somebody needs it.
type Note struct {
	Code     finding.Code
	Severity finding.Severity // "" = it is none yet
	At       Place
	Message  string // or else it is made of these: the key of a value that is from there, and of these kinds
	Origin   *Origin
	In       *Value
	Key      string
	Kinds    openapi.Kinds
	// Replacement is what to write in place of what is there.
	Replacement string
	// Unless are steps that no condition may look at, if it is to be told.
	Unless []string
}

// Raise makes it at least that severe.
func (n *Note) Raise(s finding.Severity) {
	if n.Severity != finding.Error {
		n.Severity = s
	}
}

// Notes keeps what the checks of one TemplateController note, and bounds their work. It is not safe for concurrent use.
type Notes struct {
	*Finder
	// Steps is how much work was done.
	Steps int
	// Partial are the texts with define blocks that have not been looked at for all of their dots.
	Partial map[*syntax.Text]bool

	pause   func() error
	all     []*Note
	more    []finding.Finding // that are not in a template
	fine    map[Spot]bool     // keys that are there: see Resolved
	tested  map[string]bool   // steps that conditions look at
	gaveUp  bool              // steps or notes are used up
	tooMany bool              // there are notes that are dropped
}

// NewNotes returns Notes that call pause now and then: an error ends the work. nil = there are no pauses.
func NewNotes(pause func() error) *Notes {
	return &Notes{Finder: NewFinder(), Partial: map[*syntax.Text]bool{}, pause: pause, fine: map[Spot]bool{}, tested: map[string]bool{}}
}

// stepsPerPause is how many steps take some microseconds: pauses must not cost more than the work.
const stepsPerPause = 64

// Step counts the work, and reports whether to go on.
func (all *Notes) Step() bool {
	all.Steps++
	all.gaveUp = all.gaveUp || all.Steps > MaxSteps || all.Steps%stepsPerPause == 0 && all.Paused()
	return !all.gaveUp
}

// Ended reports whether steps or notes are used up.
func (all *Notes) Ended() bool { return all.gaveUp }

// Paused makes a pause, and reports whether the work has ended in one.
func (all *Notes) Paused() bool { return all.pause != nil && all.pause() != nil }

// Full reports whether no more can be noted.
func (all *Notes) Full() bool { return len(all.all)+len(all.more) >= MaxNotes }

// Add begins a note, which is dropped if there are too many.
func (all *Notes) Add(code finding.Code, at Place) *Note {
	n := &Note{Code: code, At: at}
	if len(all.all) >= MaxNotes {
		all.gaveUp, all.tooMany = true, true
		return n
	}
	all.all = append(all.all, n)
	return n
}

// AddFinding keeps a finding that is not in a template.
func (all *Notes) AddFinding(f finding.Finding) { all.more = append(all.more, f) }

// Say notes something in words.
func (all *Notes) Say(s finding.Severity, code finding.Code, at Place, format string, args ...any) *Note {
	n := all.Add(code, at)
	n.Message, n.Severity = fmt.Sprintf(format, args...), s
	return n
}

// Warn notes that something is probably not as meant.
func (all *Notes) Warn(code finding.Code, at Place, format string, args ...any) *Note {
	return all.Say(finding.Warning, code, at, format, args...)
}

// Fail notes what rendering fails on: a warning unless it is sure that rendering gets there.
func (all *Notes) Fail(sure bool, code finding.Code, at Place, format string, args ...any) {
	severity := finding.Error
	if !sure {
		severity = finding.Warning
	}
	all.Say(severity, code, at, format, args...)
}

// Resolved notes that a key is there for one of those that ask at a place: it is no misspelling.
func (all *Notes) Resolved(at Place) { all.fine[at.Spot()] = true }

// Test notes that a condition looks at a value: what is optional on the way to it is provided for.
func (all *Notes) Test(o *Origin) {
	for ; o != nil && o.Path != "" && !all.tested[o.Step()]; o = o.Up {
		all.tested[o.Step()] = true
	}
}

// Findings returns what is to be told.
func (all *Notes) Findings() []finding.Finding {
	worst := map[Spot]finding.Severity{}
	for _, n := range all.all {
		if n.Severity == finding.Error {
			worst[n.At.Spot()] = finding.Error
		}
	}
	var kept []*Note
	told := map[Spot]bool{}
	for _, n := range all.all {
		if n.Severity == "" || n.Severity != finding.Error && (worst[n.At.Spot()] != "" || all.excused(n)) || told[n.At.Spot()] {
			continue
		}
		told[n.At.Spot()] = true
		kept = append(kept, n)
	}
	slices.SortStableFunc(kept, func(a, b *Note) int { return cmp.Compare(a.At.Offset, b.At.Offset) }) // which makes positions cheap
	found, positions := all.more, syntax.Positions{}
	for _, n := range kept {
		found = append(found, all.finding(n, positions))
	}
	if all.tooMany && len(found) > 0 {
		found = append(found, finding.More())
	}
	return finding.Sort(found)
}

// excused reports whether what a warning is about is provided for elsewhere.
func (all *Notes) excused(n *Note) bool {
	if n.Code == finding.UnknownField && (all.fine[n.At.Spot()] || all.gaveUp || all.Partial[n.At.Text]) {
		return true
	}
	for _, step := range n.Unless {
		if !all.tested[step] {
			return false
		}
	}
	return len(n.Unless) > 0
}

func (all *Notes) finding(n *Note, positions syntax.Positions) finding.Finding {
	f := finding.Finding{Code: n.Code, Severity: n.Severity, Where: n.At.Text.Name, Message: n.Message, Replacement: n.Replacement}
	f.Line, f.Column = positions.Of(n.At.Text, n.At.Offset)
	if line, column := positions.Of(n.At.Text, n.At.End()); line == f.Line {
		f.Length = column - f.Column
	}
	if n.Message == "" {
		f.Message, f.Replacement = all.Words(n)
	}
	f.Message = syntax.OneLine(f.Message)
	return f
}
