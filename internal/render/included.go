package render

import (
	"bytes"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// included maps the lines that include returned to lines of define blocks, by their text. Functions may change this text before it is
// output, but they usually keep its lines, apart from the indentation.
type included map[string]spot

// spot is a line of a text; src is nil if the line occurs more than once.
type spot struct {
	src  *syntax.Text
	line int
}

// note stores the lines that a define block has written.
func (in included) note(o *output) {
	offset := 0
	for line := range bytes.Lines(o.buf) {
		text := bytes.TrimSpace(line)
		if len(text) > 0 {
			at := in.origin(o, offset+bytes.Index(line, text))
			if before, known := in[string(text)]; known && before != at {
				at = spot{}
			}
			in[string(text)] = at
		}
		offset += len(line)
	}
}

// origin returns the line of a template that a byte of the output comes from: for included text, a line of the define block.
func (in included) origin(o *output, offset int) spot {
	src, pos := o.origin(offset)
	if src == nil {
		return spot{}
	}
	line, _ := src.Position(pos)
	if len(in) > 0 && !o.isLiteral(offset) {
		before, after := o.buf[:offset], o.buf[offset:]
		text, _, _ := bytes.Cut(after, []byte{'\n'})
		text = bytes.TrimSpace(append(bytes.Clone(before[bytes.LastIndexByte(before, '\n')+1:]), text...))
		if at := in[string(text)]; at.src != nil {
			return at
		}
	}
	return spot{src, line}
}

// include implements the function include. It returns rendered text: the output of a template with its tokens.
func (x *exec) include(f *data.Function, args []any, nodes []parse.Node) (any, error) {
	c, err := f.Begin(&x.Execution, args, nodes)
	if err != nil {
		return nil, err
	}
	name := c.Str(0)
	if c.Err != nil {
		return nil, c.Err
	}
	outer, place := x.out, x.place
	x.out = &output{}
	err = x.invoke(name, args[1])
	text := token.Rendered(x.out.buf)
	if x.in.Place != nil {
		x.noteIncluded()
	}
	x.out, x.place = outer, place
	if err != nil {
		return nil, err
	}
	c.Pay(len(text))
	return c.End(text)
}

// noteIncluded stores the output of the define block that was included last.
func (x *exec) noteIncluded() {
	if x.included == nil {
		x.included = included{}
	}
	x.included.note(x.out)
}
