package render

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// A # before printed text of several lines comments out the first of them and
// no other, so that the rest becomes fields which nobody meant to be there, by
// keys that data may choose. It is a comment or not by the structure of the
// text around it: in a block scalar, or between quotes, it is none. So a mark
// goes behind the #. When the text is parsed, a mark that is in no scalar has
// been in a comment. Marks are as rare as text like that.
//
// A mark is written as a token is, with markSign before its number.
const markSign = "c"

// suspect is an action that prints several lines, with a # before it.
type suspect struct {
	src *syntax.Text
	pos int
}

// suspect puts a mark behind the last # before the offset at in the same line, if
// there is one and what follows at, printed by n, has several lines.
func (o *output) suspect(x *exec, at int, n parse.Node) error {
	hash := lastHash(o.buf[:at])
	if hash < 0 || !bytes.ContainsFunc(o.buf[at:], isLineEnd) {
		return nil
	}
	mark := x.marker + markSign + strconv.Itoa(len(x.suspects)) + string(tokenEnd)
	if err := x.Charge(2 * (len(o.buf) - hash)); err != nil { // which move
		return err
	}
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

// lastHash returns the offset of the last # in the last line of text that may begin a
// comment, or -1. Behind a letter, as in C# and where a token ends, it is a part of a word.
func lastHash(text []byte) int {
	line := bytes.LastIndexFunc(text, isLineEnd) + 1
	for i := len(text) - 1; i >= line; i-- {
		if text[i] == '#' && (i == line || !isLetter(text[i-1])) {
			return i
		}
	}
	return -1
}

// isLineEnd reports whether the YAML library ends a line there.
func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// nextMark splits text at its first mark: what comes before, the number of its
// suspect, and what comes after.
func (x *exec) nextMark(text string) (before string, id int, after string, ok bool) {
	before, rest, found := strings.Cut(text, x.marker+markSign)
	if !found {
		return text, 0, "", false
	}
	number, after, _ := strings.Cut(rest, string(tokenEnd))
	id, err := strconv.Atoi(number)
	return before, id, after, err == nil
}

// unmarked returns rendered text without marks.
func (x *exec) unmarked(text string) string {
	if len(x.suspects) == 0 || !strings.Contains(text, x.marker+markSign) {
		return text
	}
	var out strings.Builder
	for {
		before, _, after, ok := x.nextMark(text)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		text = after
	}
}

// marks returns the marks in a text, in their order; nil means none.
func (x *exec) marks(t *yamlText) []int {
	if !t.template || len(x.suspects) == 0 {
		return nil
	}
	return x.marksIn(t.content)
}

func (x *exec) marksIn(text string) []int {
	var all []int
	for {
		_, id, after, ok := x.nextMark(text)
		if !ok {
			return all
		}
		all, text = append(all, id), after
	}
}

// unmark takes the marks out of the scalars of a document, and adds them to found.
func (x *exec) unmark(n *yaml.Node, found map[int]bool) {
	for _, id := range x.marksIn(n.Value) {
		found[id] = true
	}
	n.Value = x.unmarked(n.Value)
	for _, below := range n.Content {
		x.unmark(below, found)
	}
}

// uncommented is documents for text with marks.
func (x *exec) uncommented(t *yamlText, marks []int, do func(*yaml.Node) error) error {
	found := map[int]bool{}
	err := x.load(t, func(n *yaml.Node) error {
		x.unmark(n, found)
		return do(n)
	})
	if budget.Ended(err) {
		return err
	}
	if err != nil { // which may be about what follows a comment
		return cmp.Or(x.inComment(t), err)
	}
	for _, id := range marks {
		if !found[id] {
			return x.suspects[id].error()
		}
	}
	return nil
}

// inComment returns the error of the first suspect in a comment, as far as that can be told from the text up to
// the end of its line, or nil.
func (x *exec) inComment(t *yamlText) error {
	rest := t.content
	for {
		_, id, after, ok := x.nextMark(rest)
		if !ok {
			return nil
		}
		rest = after
		line := strings.IndexFunc(after, isLineEnd)
		head, err := x.read(t.content[:len(t.content)-len(after)+max(line, 0)], true)
		if err != nil {
			return nil //nolint:nilerr // there is another one to tell
		}
		found := map[int]bool{}
		err = x.load(head, func(n *yaml.Node) error { x.unmark(n, found); return nil })
		if err == nil && !found[id] {
			return x.suspects[id].error()
		}
	}
}

func (s suspect) error() error {
	return s.src.ErrorAt(s.pos, syntax.Invalid, "what is printed here has several lines, and the # before it comments out only the first of them; "+
		"to comment an action out, write {{/* … */}}")
}
