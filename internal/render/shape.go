package render

import (
	"sync/atomic"

	"go.yaml.in/yaml/v4"
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

// What a unit keeps. The owners of parents have a say in what shapes there
// are, so all of this is small: at worst about 200 KB for a shape and 800 KB
// for a unit. A Pod takes 7 KB.
const (
	maxShapes    = 4
	maxShapeText = 16 << 10 // bytes
	maxShapeCost = 500_000  // there are at most 1,000 nodes
)

// shapes holds the shapes of a unit that were parsed last, but not those used
// last, so that looking one up writes nothing. Two executions may put in the
// same shape at the same time; that does no harm. It is safe for concurrent
// use.
type shapes struct {
	next  atomic.Uint32
	known [maxShapes]atomic.Pointer[shape]
}

// find returns the shape of an output, or nil if it is not known. It compares
// whole texts, which takes less than a hash where there are so few.
func (s *shapes) find(output []byte) *shape {
	for i := range s.known {
		if known := s.known[i].Load(); known != nil && known.content == string(output) {
			return known
		}
	}
	return nil
}

// keep puts a shape in the place of the oldest one.
func (s *shapes) keep(parsed *shape) {
	s.known[(s.next.Add(1)-1)%maxShapes].Store(parsed)
}

// convert calls do with each document of the output. What it charges, calls
// do with and returns is the same whether the output was seen before or not.
// Only output that is without error to its end is remembered.
func (x *exec) convert(do func(*converter, *yaml.Node) error) error {
	if known := x.unit.shapes.find(x.out.buf); known != nil {
		return x.convertKnown(known, do)
	}
	text, err := x.read(string(x.out.buf), true)
	if err != nil {
		return err
	}
	parsed := shape{yamlText: text}
	small := len(text.content) <= maxShapeText && text.cost <= maxShapeCost
	c := &converter{x: x, from: text}
	err = x.documents(text, func(n *yaml.Node) error {
		if small {
			parsed.documents = append(parsed.documents, n)
		}
		return do(c, n)
	})
	if err == nil && small {
		x.unit.shapes.keep(&parsed)
	}
	return err
}

func (x *exec) convertKnown(known *shape, do func(*converter, *yaml.Node) error) error {
	if err := x.Charge(known.cost); err != nil {
		return err
	}
	c := &converter{x: x, from: known.yamlText}
	for _, n := range known.documents {
		if err := do(c, n); err != nil {
			return err
		}
	}
	return nil
}
