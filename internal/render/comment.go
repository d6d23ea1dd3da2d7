package render

import (
	"bytes"
	"slices"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// A # before printed text of several lines comments out the first of them and
// no other, so that the rest becomes fields which nobody meant to be there, by
// keys that data may choose. It is a comment or not by the structure of the
// text around it: in a block scalar, or between quotes, it is none. So a mark
// goes behind the #. When the text is parsed, a mark that is in no scalar has
// been in a comment. Marks are as rare as text like that.

// suspect is an action that prints several lines, with a # before it.
type suspect struct {
	src *syntax.Text
	pos int
}

// suspect puts a mark behind the last # before the offset at in the same line, if
// there is one and what follows at, printed by n, has several lines.
func (o *output) suspect(x *exec, at int, n parse.Node) error {
	hash := token.CommentStart(o.buf[:at])
	if hash < 0 || !bytes.ContainsFunc(o.buf[at:], token.IsLineEnd) {
		return nil
	}
	if err := x.Charge(2 * (len(o.buf) - hash)); err != nil { // which move
		return err
	}
	mark := x.NewMark()
	x.suspects = append(x.suspects, suspect{x.src, syntax.Start(n)})
	o.insert(hash+1, mark)
	return x.Write(len(mark))
}

// insert puts text into the output. Literal text around it goes on behind it.
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
