package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// reach says how certain it is that rendering gets to a place.
type reach struct {
	// depth is how many define blocks are around, and dead how many blocks that are not reached with these values.
	depth, dead int
	// unsure is how many conditions are around that objects decide, and left says that a round of a range may have ended before here.
	unsure int
	left   bool
}

// gravest is how severe a finding can be. Behind a condition that objects decide, nobody knows what else is so where it holds, and
// nothing is more than a warning.
func (r reach) gravest() finding.Severity {
	if r.unsure > 0 || r.left {
		return finding.Warning
	}
	return finding.Error
}

// position is a place in the text of a template, about which something can be noted.
type position struct {
	notes *types.Notes
	reach
	src *syntax.Text // that the current block is from
}

// note begins a note, unless it is about a define block that is not reached with these values.
func (p *position) note(code finding.Code, at types.Place) *types.Note {
	if p.dead > 0 && p.depth > 0 {
		return &types.Note{Code: code, At: at}
	}
	return p.notes.Add(code, at)
}

// fails makes findings of notes on which rendering stops, if it gets there.
func (p *position) fails(notes ...*types.Note) {
	if p.dead > 0 {
		return
	}
	for _, n := range notes {
		n.Raise(p.gravest())
	}
}

// errorf notes that rendering fails here, if it gets here.
func (p *position) errorf(code finding.Code, at types.Place, format string, args ...any) {
	p.maybe(true, code, at, format, args...)
}

// maybe notes an error, or a warning where it is not sure to be one.
func (p *position) maybe(sure bool, code finding.Code, at types.Place, format string, args ...any) {
	if p.dead == 0 {
		p.notes.Fail(sure && p.gravest() == finding.Error, code, at, format, args...)
	}
}

// warnf notes that something is probably not as meant.
func (p *position) warnf(code finding.Code, at types.Place, format string, args ...any) *types.Note {
	if p.dead > 0 {
		return &types.Note{}
	}
	return p.notes.Warn(code, at, format, args...)
}

// at returns the place of a node.
func (p *position) at(n parse.Node) types.Place {
	return types.Place{Text: p.src, Offset: syntax.Start(n), Node: n}
}

// inString returns the place of a word in a string of the author.
func (p *position) inString(n *parse.StringNode, word string) types.Place {
	i := strings.Index(n.Quoted, word)
	if i < 0 {
		return p.at(n)
	}
	return types.Place{Text: p.src, Offset: int(n.Pos) + i, Length: len(word)}
}
