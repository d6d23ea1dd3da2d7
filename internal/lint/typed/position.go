package typed

import (
	"strings"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// reach is how certainly a place is rendered.
type reach struct {
	// depth is the number of enclosing define blocks, and dead the number of enclosing blocks that are unreachable with these values.
	depth, dead int
	// unsure is the number of enclosing conditions that depend on objects, and left means that an iteration of a range can end before this place.
	unsure int
	left   bool
}

// gravest is the maximum severity of a finding. Below a condition that depends on objects, other facts can be implied, so
// findings are at most warnings.
func (r reach) gravest() finding.Severity {
	if r.unsure > 0 || r.left {
		return finding.Warning
	}
	return finding.Error
}

// position is a place in the text of a template, for notes.
type position struct {
	notes *types.Notes
	reach
	src *syntax.Text // text of the current block
}

// note adds a note, unless the define block is unreachable with these values.
func (p *position) note(code finding.Code, at types.Place) *types.Note {
	if p.dead > 0 && p.depth > 0 {
		return &types.Note{Code: code, At: at}
	}
	return p.notes.Add(code, at)
}

// fails reports notes about code that fails when rendered.
func (p *position) fails(notes ...*types.Note) {
	if p.dead > 0 {
		return
	}
	for _, n := range notes {
		n.Raise(p.gravest())
	}
}

// errorf reports code that fails when rendered.
func (p *position) errorf(code finding.Code, at types.Place, format string, args ...any) {
	p.maybe(true, code, at, format, args...)
}

// maybe reports an error, or a warning if it is uncertain.
func (p *position) maybe(sure bool, code finding.Code, at types.Place, format string, args ...any) {
	if p.dead == 0 {
		p.notes.Fail(sure && p.gravest() == finding.Error, code, at, format, args...)
	}
}

// warnf reports a probable mistake.
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

// inString returns the place of a word in a string literal.
func (p *position) inString(n *parse.StringNode, word string) types.Place {
	i := strings.Index(n.Quoted, word)
	if i < 0 {
		return p.at(n)
	}
	return types.Place{Text: p.src, Offset: int(n.Pos) + i, Length: len(word)}
}
