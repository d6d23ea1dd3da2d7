package value

import (
	"text/template/parse"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
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
	Kinds    schema.Kinds
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
