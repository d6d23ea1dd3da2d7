package render

import (
	"sort"
	"text/template/parse"
)

// output is the text that a template writes, and where each piece of it comes
// from.
type output struct {
	buf    []byte
	pieces []piece
}

// piece says that from offset at on, the output comes from a place in src.
// The characters of literal text correspond one to one to the author's.
type piece struct {
	at, pos int
	src     *text
	literal bool
}

// text writes a piece of the template's own text.
func (o *output) text(x *exec, n *parse.TextNode) error {
	if err := x.write(len(n.Text)); err != nil {
		return err
	}
	o.pieces = append(o.pieces, piece{at: len(o.buf), pos: int(n.Pos), src: x.src, literal: true})
	o.buf = append(o.buf, n.Text...)
	return nil
}

// value writes a value that the action n printed.
func (o *output) value(x *exec, v any, n parse.Node) error {
	from := len(o.buf)
	o.pieces = append(o.pieces, piece{at: from, pos: start(n), src: x.src})
	var err error
	o.buf, err = x.appendPrinted(o.buf, v)
	if err != nil {
		return err
	}
	return x.write(len(o.buf) - from)
}

// origin returns the place in a template that a byte of the output came from.
func (o *output) origin(offset int) (*text, int) {
	i := sort.Search(len(o.pieces), func(i int) bool { return o.pieces[i].at > offset }) - 1
	if i < 0 {
		return nil, 0
	}
	p := o.pieces[i]
	if p.literal {
		return p.src, p.pos + offset - p.at
	}
	return p.src, p.pos
}

// reset empties the output for reuse.
func (o *output) reset() {
	clear(o.pieces)
	o.buf, o.pieces = o.buf[:0], o.pieces[:0]
}
