package document

import (
	"sync/atomic"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/token"
)

// shape is the output of a template, tokens and all, and what it was parsed
// to. Where a template takes the same branches and loops for two parents, it
// puts out the same bytes, because each value is a token and tokens are
// numbered in the order in which they are made. So parsing one shape serves
// all parents alike, in whose executions the tokens then stand for other
// values.
//
// No scalar of the data but null is in a shape, nor in its nodes: plain and
// derived text, numbers, booleans and the keys of maps are all printed as tokens,
// and what is neither a token nor the author's text is punctuation, white space
// and null. Data decides which of these are there, so it decides
// which shape it is. But nodes depend on nothing but the text that they were
// parsed from: whatever the data, the same text has the same nodes.
//
// Nobody writes to a shape, so all executions share it.
type shape struct {
	*yamlText
	documents []*yaml.Node
}

// What a template keeps. The owners of parents have a say in what shapes there
// are, so all of this is small: at worst about 200 KB for a shape and 800 KB
// for a template. A Pod takes 7 KB.
const (
	maxShapes    = 4
	maxShapeText = 16 << 10 // bytes
	maxShapeCost = 500_000  // there are at most 1,000 nodes
)

// Shapes holds the shapes of a template that were parsed last, but not those used
// last, so that looking one up writes nothing. Two executions may put in the
// same shape at the same time; that does no harm. It is safe for concurrent
// use.
type Shapes struct {
	next  atomic.Uint32
	known [maxShapes]atomic.Pointer[shape]
}

// find returns the shape of an output, or nil if it is not known. It compares
// whole texts, which takes less than a hash where there are so few.
func (s *Shapes) find(output []byte) *shape {
	for i := range s.known {
		if known := s.known[i].Load(); known != nil && known.content == string(output) {
			return known
		}
	}
	return nil
}

// keep puts a shape in the place of the oldest one.
func (s *Shapes) keep(parsed *shape) {
	s.known[(s.next.Add(1)-1)%maxShapes].Store(parsed)
}

// Outputs returns what is known, in no order.
func (s *Shapes) Outputs() []string {
	var all []string
	for i := range s.known {
		if known := s.known[i].Load(); known != nil {
			all = append(all, known.content)
		}
	}
	return all
}

// Read calls do with each document of a template's output. What it charges, calls
// do with and returns is the same whether the output was seen before or not.
// Only output that is without error to its end is remembered.
func (s *Shapes) Read(x *token.Table, output []byte, do func(Document) error) error {
	if known := s.find(output); known != nil {
		return known.read(x, do)
	}
	text, err := read(x, string(output), true)
	if err != nil {
		return err
	}
	parsed := shape{yamlText: text}
	small := len(text.content) <= maxShapeText && text.cost <= maxShapeCost
	c := &converter{x: x, from: text}
	err = documents(x, text, func(n *yaml.Node) error {
		if small {
			parsed.documents = append(parsed.documents, n)
		}
		return do(Document{c, n})
	})
	if err == nil && small {
		s.keep(&parsed)
	}
	return err
}

// read is Read for a shape that is known.
func (s *shape) read(x *token.Table, do func(Document) error) error {
	if err := x.Charge(s.cost); err != nil {
		return err
	}
	c := &converter{x: x, from: s.yamlText}
	for _, n := range s.documents {
		if err := do(Document{c, n}); err != nil {
			return err
		}
	}
	return nil
}
