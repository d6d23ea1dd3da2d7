package render

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"text/template/parse"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/render/token"
)

// output is the text that a template writes, and the origin of each piece.
type output struct {
	buf    []byte
	pieces []piece
}

// piece says that the output from offset at on comes from a place in src. The characters of literal text correspond one to one to the
// author's.
type piece struct {
	at, pos int
	src     *syntax.Text
	literal bool
}

// text writes a piece of literal text of the template.
func (o *output) text(x *exec, n *parse.TextNode) error {
	if err := x.Write(len(n.Text)); err != nil {
		return err
	}
	if err := x.Charge(budget.CostStep + budget.CostGrown*len(n.Text)); err != nil {
		return err
	}
	o.pieces = append(o.pieces, piece{at: len(o.buf), pos: int(n.Pos), src: x.src, literal: true})
	o.buf = append(o.buf, n.Text...)
	return nil
}

// value writes a value that the action n prints.
func (o *output) value(x *exec, v any, n parse.Node) error {
	from := len(o.buf)
	o.pieces = append(o.pieces, piece{at: from, pos: syntax.Start(n), src: x.src})
	var err error
	o.buf, err = data.AppendPrinted(o.buf, v, &x.Table)
	if err != nil {
		return err
	}
	if err := x.Write(len(o.buf) - from); err != nil {
		return err
	}
	if _, several := v.(token.Rendered); !several {
		return nil
	}
	return o.suspect(x, from, n)
}

// origin returns the place in a template that a byte of the output came from.
func (o *output) origin(offset int) (*syntax.Text, int) {
	i := o.piece(offset)
	if i < 0 {
		return nil, 0
	}
	p := o.pieces[i]
	if p.literal {
		return p.src, p.pos + offset - p.at
	}
	return p.src, p.pos
}

// piece returns the index of the piece that contains a byte, or -1.
func (o *output) piece(offset int) int {
	return sort.Search(len(o.pieces), func(i int) bool { return o.pieces[i].at > offset }) - 1
}

// isLiteral reports whether a byte is literal text of the template.
func (o *output) isLiteral(offset int) bool {
	i := o.piece(offset)
	return i >= 0 && o.pieces[i].literal
}

// explained adds a hint to an error at an offset of the output if text of several lines, printed there or directly before, is not
// indented: the lines after the first are then in the wrong place, and cause the error.
func (o *output) explained(err error, offset int) error {
	at := o.piece(offset)
	for i := at; i >= max(0, at-1); i-- {
		if by, lacks := o.lacksIndentation(i); lacks {
			p := o.pieces[i]
			line, _ := p.src.Position(p.pos)
			if e, ok := errors.AsType[*document.Error](err); ok {
				err = &document.Error{Offset: e.Offset, Message: e.Message} // without its own hint, which would mislead
			}
			return fmt.Errorf("%w; the value printed in line %d of %s has several lines without indentation: write {{- … | nindent %d }}",
				err, line, p.src.Name, by)
		}
	}
	return err
}

// lacksIndentation reports whether a piece begins within a line, and its next line that is not blank is less indented. It also returns
// the indentation that it needs.
func (o *output) lacksIndentation(i int) (by int, lacks bool) {
	first, rest, before := o.around(i)
	blank := rest[:len(rest)-len(bytes.TrimLeft(rest, " \n"))]
	next := rest[bytes.LastIndexByte(blank, '\n')+1:]
	if o.pieces[i].literal || len(first) == 0 || len(blank) == len(rest) || spaces(next) >= len(before) {
		return 0, false
	}
	return indentation(before), true
}

// misplaced returns an error if data that is printed as several lines has a key or an item that is less indented than its first line.
// This is often valid YAML, but then the data has added a field that the author did not intend.
func (o *output) misplaced(marker string) error {
	for i, p := range o.pieces {
		if p.literal {
			continue
		}
		first, rest, before := o.around(i)
		if len(first) == 0 || len(rest) == 0 {
			continue
		}
		place := len(before) - len(bytes.TrimLeft(before, " -"))
		for line := range bytes.Lines(rest) {
			if from := spaces(line); from < place && bytes.HasPrefix(bytes.TrimLeft(line, " -"), []byte(marker)) {
				return p.src.ErrorAt(p.pos, syntax.Invalid, fmt.Sprintf("the value printed here has several lines, and a key or an item in it is not "+
					"indented enough: write {{- … | nindent %d }}", indentation(before)))
			}
		}
	}
	return nil
}

// around returns the first line of a piece, its other lines, and the text before it in its first line.
func (o *output) around(i int) (first, rest, before []byte) {
	at, end := o.pieces[i].at, len(o.buf)
	if i+1 < len(o.pieces) {
		end = o.pieces[i+1].at
	}
	first, rest, several := bytes.Cut(o.buf[at:end], []byte{'\n'})
	if !several {
		return first, nil, nil
	}
	return first, rest, o.buf[bytes.LastIndexByte(o.buf[:at], '\n')+1 : at]
}

// indentation returns the indentation of lines that are printed after this text.
func indentation(before []byte) int {
	switch left := bytes.TrimRight(before, " "); {
	case spaces(before) == len(before):
		return len(before)
	case bytes.Contains(left, []byte(": ")) && !bytes.HasSuffix(left, []byte{':'}):
		return len(before) - len(bytes.TrimLeft(before, " -")) // next to a field, because {{- removed the line break
	}
	return spaces(before) + 2 // below a key
}

// spaces returns the number of spaces at the beginning of a line.
func spaces(line []byte) int { return len(line) - len(bytes.TrimLeft(line, " ")) }

// reset clears the output for reuse.
func (o *output) reset() {
	clear(o.pieces)
	o.buf, o.pieces = o.buf[:0], o.pieces[:0]
}
