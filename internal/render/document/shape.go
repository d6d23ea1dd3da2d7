package document

import (
	"sync/atomic"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/token"
)

// shape is the output of a template, including tokens, and the nodes parsed
// from it. If a template takes the same branches and loops for two parents, its
// output has the same bytes, because each value is a token and tokens are
// numbered in order of creation. So one parsed shape serves all these parents;
// only the values of the tokens differ.
//
// A shape and its nodes contain no scalar of the data except null: plain and
// derived text, numbers, booleans and map keys are all printed as tokens. The
// rest is the author's text, punctuation, white space and null. Data decides
// which of these occur, and thereby selects the shape. But nodes depend only on
// the text they were parsed from: the same text has the same nodes for any data.
//
// A shape is immutable, so all executions share it.
type shape struct {
	*yamlText
	documents []*yaml.Node
}

// Limits of what is cached per template. Owners of parents influence which
// shapes exist, so the limits are low: at worst about 200 KB for a shape and
// 800 KB for a template. A Pod takes 7 KB.
const (
	maxShapes    = 4
	maxShapeText = 16 << 10 // bytes
	maxShapeCost = 500_000  // at most 1,000 nodes
)

// Shapes caches the most recently parsed shapes of a template, rather than the
// most recently used, so that lookups do not write. Concurrent executions may
// add the same shape twice, which is harmless. It is safe for concurrent use.
type Shapes struct {
	next  atomic.Uint32
	known [maxShapes]atomic.Pointer[shape]
}

// find returns the shape of an output, or nil if it is not cached. It compares
// whole texts, which is faster than hashing for so few.
func (s *Shapes) find(output []byte) *shape {
	for i := range s.known {
		if known := s.known[i].Load(); known != nil && known.content == string(output) {
			return known
		}
	}
	return nil
}

// keep replaces the oldest shape by parsed.
func (s *Shapes) keep(parsed *shape) {
	s.known[(s.next.Add(1)-1)%maxShapes].Store(parsed)
}

// Outputs returns the cached outputs, in no particular order.
func (s *Shapes) Outputs() []string {
	var all []string
	for i := range s.known {
		if known := s.known[i].Load(); known != nil {
			all = append(all, known.content)
		}
	}
	return all
}

// Read calls do with each document of a template's output. Charges, calls of do
// and the result are the same whether the output is cached or not. Only output
// that is read to its end without an error is cached.
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

// read is [Shapes.Read] for a cached shape.
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
