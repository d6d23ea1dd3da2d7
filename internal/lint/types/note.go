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

// Limits of a check. Nothing beyond them is checked or reported.
const (
	MaxSteps = 200_000 // visits of template nodes
	MaxNotes = 500
	MaxChain = 40 // nested calls of define blocks
)

// Place is a place in a template.
type Place struct {
	Text           *syntax.Text
	Offset, Length int        // in bytes of the parsed text
	Node           parse.Node // the node, if it determines the length
}

// Spot is a place without a length.
type Spot struct {
	Text   *syntax.Text
	Offset int
}

// Spot returns the start of the place.
func (p Place) Spot() Spot { return Spot{p.Text, p.Offset} }

// End returns the offset after the place.
func (p Place) End() int {
	if p.Node != nil {
		return p.Offset + len(p.Node.String())
	}
	return p.Offset + p.Length
}

// Note is a potential finding: a missing value is only reported if it is used.
type Note struct {
	Code     finding.Code
	Severity finding.Severity // "" = not a finding yet
	At       Place
	Message  string // if empty, it is built from Origin, In, Key and Kinds
	Origin   *Origin
	In       *Value
	Key      string
	Kinds    openapi.JSONTypes
	// Replacement is the suggested text.
	Replacement string
	// The note is dropped if conditions test all of these steps: in this template, in define blocks, or, if nil, in any template.
	Unless []string
	Within *syntax.Text
}

// Raise raises the severity to at least the given one.
func (n *Note) Raise(s finding.Severity) {
	if n.Severity != finding.Error {
		n.Severity = s
	}
}

// Notes collects the notes of the checks of one TemplateController, and limits their work. It is not safe for concurrent use.
type Notes struct {
	*Finder
	// Steps is the number of steps so far.
	Steps int
	// Partial are the texts with define blocks that were not checked for all values of dot.
	Partial map[*syntax.Text]bool

	pause   func() error
	all     []*Note
	more    []finding.Finding // outside of templates
	fine    map[Spot]bool     // existing keys: see Resolved
	tested  map[test]bool     // tests of conditions
	gaveUp  bool              // the limit of steps or notes is reached
	tooMany bool              // some notes were dropped
}

// test is an optional step that a condition tests, and the template of the condition; nil = one that all templates share.
type test struct {
	step string
	in   *syntax.Text
}

// somewhere is the template of tests in any template.
var somewhere = &syntax.Text{}

// NewNotes returns Notes that call pause regularly: an error stops the check. nil = no pauses.
func NewNotes(pause func() error) *Notes {
	return &Notes{Finder: NewFinder(), Partial: map[*syntax.Text]bool{}, pause: pause, fine: map[Spot]bool{}, tested: map[test]bool{}}
}

// stepsPerPause is the number of steps between pauses. They take some microseconds, so that pauses cost less than the work.
const stepsPerPause = 64

// Step counts a step, and reports whether to continue.
func (all *Notes) Step() bool {
	all.Steps++
	all.gaveUp = all.gaveUp || all.Steps > MaxSteps || all.Steps%stepsPerPause == 0 && all.Paused()
	return !all.gaveUp
}

// Ended reports whether a limit is reached.
func (all *Notes) Ended() bool { return all.gaveUp }

// Paused calls pause, and reports whether it returned an error.
func (all *Notes) Paused() bool { return all.pause != nil && all.pause() != nil }

// Full reports whether the limit of notes is reached.
func (all *Notes) Full() bool { return len(all.all)+len(all.more) >= MaxNotes }

// Add adds a note, which is dropped if there are too many.
func (all *Notes) Add(code finding.Code, at Place) *Note {
	n := &Note{Code: code, At: at}
	if len(all.all) >= MaxNotes {
		all.gaveUp, all.tooMany = true, true
		return n
	}
	all.all = append(all.all, n)
	return n
}

// AddFinding adds a finding outside of templates.
func (all *Notes) AddFinding(f finding.Finding) { all.more = append(all.more, f) }

// Say adds a note with a message.
func (all *Notes) Say(s finding.Severity, code finding.Code, at Place, format string, args ...any) *Note {
	n := all.Add(code, at)
	n.Message, n.Severity = fmt.Sprintf(format, args...), s
	return n
}

// Warn adds a warning.
func (all *Notes) Warn(code finding.Code, at Place, format string, args ...any) *Note {
	return all.Say(finding.Warning, code, at, format, args...)
}

// Fail adds a note for code that fails to render: a warning unless it is certain to be reached.
func (all *Notes) Fail(sure bool, code finding.Code, at Place, format string, args ...any) {
	severity := finding.Error
	if !sure {
		severity = finding.Warning
	}
	all.Say(severity, code, at, format, args...)
}

// Resolved records that a key at a place exists for at least one type: it is not a misspelling.
func (all *Notes) Resolved(at Place) { all.fine[at.Spot()] = true }

// Test records that a condition of a template tests a value: optional steps on its path are handled there, or everywhere if in is nil.
func (all *Notes) Test(o *Origin, in *syntax.Text) {
	for ; o != nil && o.Path != "" && !all.tested[test{o.Step(), in}]; o = o.Up {
		all.tested[test{o.Step(), in}], all.tested[test{o.Step(), somewhere}] = true, true
	}
}

// Findings returns the findings.
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
	slices.SortStableFunc(kept, func(a, b *Note) int { return cmp.Compare(a.At.Offset, b.At.Offset) }) // so that computing positions is cheap
	found, positions := all.more, syntax.Positions{}
	for _, n := range kept {
		found = append(found, all.finding(n, positions))
	}
	if all.tooMany && len(found) > 0 {
		found = append(found, finding.More())
	}
	return finding.Sort(found)
}

// excused reports whether the template handles the subject of a warning elsewhere.
func (all *Notes) excused(n *Note) bool {
	if n.Code == finding.UnknownField && (all.fine[n.At.Spot()] || all.gaveUp || all.Partial[n.At.Text]) {
		return true
	}
	for _, step := range n.Unless {
		if in := cmp.Or(n.Within, somewhere); !all.tested[test{step, in}] && !all.tested[test{step, nil}] {
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
