package render

import (
	"bytes"
	"slices"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// If a # precedes printed text of several lines, only the first line is commented out: the others become fields that nobody intended,
// with keys that data may choose. Whether it is a comment depends on the structure of the surrounding text: in a block scalar, or
// between quotes, it is not. So a mark is inserted after the #. If the mark is not in a scalar after parsing, it was in a comment.
// Marks are as rare as such text.

// suspect is an action that prints several lines after a #.
type suspect struct {
	src *syntax.Text
	pos int
}

// suspect inserts a mark after the last # that precedes the offset at in the same line, if there is one and the text printed at that
// offset by n has several lines.
func (o *output) suspect(x *exec, at int, n parse.Node) error {
	hash := token.CommentStart(o.buf[:at])
	if hash < 0 || !bytes.ContainsFunc(o.buf[at:], token.IsLineEnd) {
		return nil
	}
	if err := x.Charge(2 * (len(o.buf) - hash)); err != nil { // for the bytes that move
		return err
	}
	mark := x.NewMark()
	x.suspects = append(x.suspects, suspect{x.src, syntax.Start(n)})
	o.insert(hash+1, mark)
	return x.Write(len(mark))
}

// insert inserts text into the output. A piece of literal text is split around it.
func (o *output) insert(at int, text string) {
	o.buf = slices.Insert(o.buf, at, []byte(text)...)
	i := len(o.pieces)
	for i > 0 && o.pieces[i-1].at >= at {
		i--
		o.pieces[i].at += len(text)
	}
	if i == 0 || !o.pieces[i-1].literal {
		return
	}
	within := o.pieces[i-1]
	within.pos += at - within.at
	within.at, within.literal = at, false
	behind := within
	behind.at, behind.literal = at+len(text), true
	o.pieces = slices.Insert(o.pieces, i, within, behind)
}

func (s suspect) error() error {
	return s.src.ErrorAt(s.pos, syntax.Invalid, "the value printed here has several lines, and the # before it comments out only the first one; "+
		"to comment an action out, write {{/* … */}}")
}
