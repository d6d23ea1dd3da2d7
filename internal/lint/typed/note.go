package typed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// note begins a note, which is dropped if there are too many.
func (c *checker) note(code finding.Code, at value.Place) *value.Note {
	n := &value.Note{Code: code, At: at}
	switch {
	case c.dead > 0 && c.depth > 0:
	case len(c.notes) >= maxNotes:
		c.gaveUp, c.tooMany = true, true
	default:
		c.notes = append(c.notes, n)
	}
	return n
}

// resolved notes that a key is there for one of those that ask at a place: it is no misspelling.
func (c *checker) resolved(at value.Place) { c.fine[at.Spot()] = true }

// fails makes findings of notes on which rendering stops, if it gets there.
func (c *checker) fails(notes ...*value.Note) {
	if c.dead > 0 {
		return
	}
	for _, n := range notes {
		n.Raise(c.gravest())
	}
}

// errorf notes that rendering fails here, if it gets here.
func (c *checker) errorf(code finding.Code, at value.Place, format string, args ...any) {
	c.say(c.gravest(), code, at, format, args...)
}

// warnf notes that something is probably not as meant.
func (c *checker) warnf(code finding.Code, at value.Place, format string, args ...any) *value.Note {
	return c.say(finding.Warning, code, at, format, args...)
}

func (c *checker) say(s finding.Severity, code finding.Code, at value.Place, format string, args ...any) *value.Note {
	if c.dead > 0 {
		return &value.Note{}
	}
	n := c.note(code, at)
	n.Message, n.Severity = fmt.Sprintf(format, args...), s
	return n
}

// at returns the place of a node.
func (c *checker) at(n parse.Node) value.Place {
	return value.Place{Text: c.src, Offset: syntax.Start(n), Node: n}
}

// inString returns the place of a word in a string of the author.
func (c *checker) inString(n *parse.StringNode, word string) value.Place {
	i := strings.Index(n.Quoted, word)
	if i < 0 {
		return c.at(n)
	}
	return value.Place{Text: c.src, Offset: int(n.Pos) + i, Length: len(word)}
}

// findings returns what is to be told.
func (c *checker) findings() []finding.Finding {
	worst := map[value.Spot]finding.Severity{}
	for _, n := range c.notes {
		if n.Severity == finding.Error {
			worst[n.At.Spot()] = finding.Error
		}
	}
	var kept []*value.Note
	told := map[value.Spot]bool{}
	for _, n := range c.notes {
		if n.Severity == "" || n.Severity != finding.Error && (worst[n.At.Spot()] != "" || c.excused(n)) || told[n.At.Spot()] {
			continue
		}
		told[n.At.Spot()] = true
		kept = append(kept, n)
	}
	slices.SortStableFunc(kept, func(a, b *value.Note) int { return cmp.Compare(a.At.Offset, b.At.Offset) }) // which makes positions cheap
	all, positions := c.more, syntax.Positions{}
	for _, n := range kept {
		all = append(all, c.finding(n, positions))
	}
	if c.tooMany && len(all) > 0 {
		all = append(all, finding.More())
	}
	return finding.Sort(all)
}

// excused reports whether what a warning is about is provided for elsewhere.
func (c *checker) excused(n *value.Note) bool {
	if n.Code == finding.UnknownField && (c.fine[n.At.Spot()] || c.gaveUp || c.partial[n.At.Text]) {
		return true
	}
	for _, step := range n.Unless {
		if !c.tested[step] {
			return false
		}
	}
	return len(n.Unless) > 0
}

func (c *checker) finding(n *value.Note, positions syntax.Positions) finding.Finding {
	f := finding.Finding{Code: n.Code, Severity: n.Severity, Where: n.At.Text.Name, Message: n.Message, Replacement: n.Replacement}
	f.Line, f.Column = positions.Of(n.At.Text, n.At.Offset)
	if line, column := positions.Of(n.At.Text, n.At.End()); line == f.Line {
		f.Length = column - f.Column
	}
	if n.Message == "" {
		f.Message, f.Replacement = c.suggest.Words(n)
	}
	f.Message = syntax.OneLine(f.Message)
	return f
}
