package outline

import (
	"bytes"
	"maps"
	"slices"
	"sort"
	"text/template/parse"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// way is one of the ways that rendering may take through the branches and loops of a template, and the text that this yields.
type way struct {
	text   *syntax.Text
	prints Classifier
	choose chooser

	out    []byte
	pieces []piece
	// sure is up to where each rendering yields this text; -1 = to its end.
	sure  int
	nodes []parse.Node // the branches and loops that it has met, in order
	// holes are where nobody knows what is printed, with how far that is indented.
	holes map[int]int
	// mixed are those that other text stands beside.
	mixed  map[int]bool
	places []int // where they are, in order
	starts []int // of the lines; see lineStarts
}

// piece says that from offset at on, the text comes from a place in the template.
type piece struct {
	at, pos int
	literal bool // the author's own text
}

// chooser says how often the body of a branch or loop is rendered: not at all, which is else, once or, in a loop, several times. In each
// round it is asked again for what is in the body.
type chooser func(n parse.Node, round int) int

// follow renders a template in one way.
func follow(u *syntax.Unit, prints Classifier, choose chooser) *way {
	w := &way{text: u.Text, prints: prints, choose: choose, sure: -1, holes: map[int]int{}, mixed: map[int]bool{}}
	w.list(u.Body(), 0)
	w.settle()
	return w
}

// list renders nodes. It reports false where a loop goes on with its next round, or ends.
func (w *way) list(l *parse.ListNode, round int) bool {
	if l == nil {
		return true
	}
	for _, n := range l.Nodes {
		if len(w.out) > longest || !w.node(n, round) {
			return false
		}
	}
	return true
}

func (w *way) node(n parse.Node, round int) bool {
	switch n := n.(type) {
	case *parse.TextNode:
		w.pieces = append(w.pieces, piece{len(w.out), int(n.Pos), true})
		w.out = append(w.out, n.Text...)
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 && !syntax.Ends(n.Pipe) {
			w.print(n, w.prints(n), nindent(n.Pipe))
		}
	case *parse.TemplateNode:
		w.print(n, Lines, 0)
	case *parse.IfNode:
		return w.branch(n, &n.BranchNode, round)
	case *parse.WithNode:
		return w.branch(n, &n.BranchNode, round)
	case *parse.RangeNode:
		return w.loop(n)
	case *parse.BreakNode, *parse.ContinueNode:
		w.doubt(len(w.out))
		return false
	}
	return true
}

func (w *way) print(n parse.Node, p Printed, indent int) {
	w.pieces = append(w.pieces, piece{len(w.out), int(n.Position()), false})
	if p == Lines {
		w.doubt(len(w.out))
		if indent > 0 {
			w.holes[len(w.out)] = indent
		}
	}
	w.out = append(w.out, p.text()...)
}

func (w *way) branch(n parse.Node, b *parse.BranchNode, round int) bool {
	w.nodes = append(w.nodes, n)
	switch taken, known := w.taken(b); {
	case known:
		return w.list(taken, round)
	case w.choose(n, round) > 0:
		return w.list(b.List, round)
	}
	return w.list(b.ElseList, round)
}

// taken returns what is rendered of a branch or a loop in any case, because rendering ends in the other list. Where there is no such
// list, it notes that not all renderings yield the same.
func (w *way) taken(b *parse.BranchNode) (taken *parse.ListNode, known bool) {
	switch {
	case ends(b.List):
		return b.ElseList, true
	case ends(b.ElseList) && b.NodeType != parse.NodeRange:
		return b.List, true
	case writes(b.List) || writes(b.ElseList):
		w.doubt(len(w.out))
	}
	return nil, false
}

func (w *way) loop(n *parse.RangeNode) bool {
	w.nodes = append(w.nodes, n)
	if taken, known := w.taken(&n.BranchNode); known {
		return w.list(taken, 0)
	}
	rounds := w.choose(n, 0)
	for i := range rounds {
		w.list(n.List, i)
	}
	if rounds == 0 {
		return w.list(n.ElseList, 0)
	}
	return true
}

// doubt notes that from there on, not all renderings yield the same.
func (w *way) doubt(at int) {
	if w.sure < 0 || at < w.sure {
		w.sure = at
	}
}

// ends reports whether rendering ends in nodes, whatever the data.
func ends(l *parse.ListNode) bool {
	return l != nil && slices.ContainsFunc(l.Nodes, func(n parse.Node) bool {
		action, ok := n.(*parse.ActionNode)
		return ok && syntax.Ends(action.Pipe)
	})
}

// writes reports whether nodes may write anything, or leave the loop around them.
func writes(l *parse.ListNode) bool {
	if l == nil {
		return false
	}
	for _, n := range l.Nodes {
		b := syntax.Branch(n)
		action, _ := n.(*parse.ActionNode)
		switch {
		case b != nil && !writes(b.List) && !writes(b.ElseList), action != nil && len(action.Pipe.Decl) > 0, n.Type() == parse.NodeComment:
		default:
			return true
		}
	}
	return false
}

// nindent returns how far a pipeline indents what it prints, or 0.
func nindent(pipe *parse.PipeNode) int {
	last := pipe.Cmds[len(pipe.Cmds)-1]
	name, ok := last.Args[0].(*parse.IdentifierNode)
	if !ok || len(last.Args) < 2 || name.Ident != "nindent" && name.Ident != "indent" {
		return 0
	}
	number, ok := last.Args[1].(*parse.NumberNode)
	if !ok || !number.IsInt {
		return 0
	}
	return int(number.Int64)
}

// settle puts scalars or nothing where it depends on their line what is printed, of which nobody knows the text.
func (w *way) settle() {
	for from := 0; from < len(w.out); {
		end := len(w.out)
		if i := bytes.IndexByte(w.out[from:], '\n'); i >= 0 {
			end = from + i
		}
		if bytes.ContainsAny(w.out[from:end], unsettled) {
			w.settleLine(from, end)
		}
		from = end + 1
	}
	w.places = slices.Sorted(maps.Keys(w.holes))
}

// settleLine does so in a line, from its end to its beginning. alone is whether nothing follows in the line, or a comment.
func (w *way) settleLine(from, end int) {
	line := w.out[from:end]
	indent := len(line) - len(bytes.TrimLeft(line, " "))
	dashes := len(line) - len(bytes.TrimLeft(line, " -"))
	for to, alone := end-from, true; ; {
		at := bytes.LastIndexAny(line[:to], unsettled)
		if at < 0 {
			return
		}
		r, size := utf8.DecodeRune(line[at:])
		before := bytes.TrimRight(line[:at], " ")
		if follows := bytes.TrimSpace(line[at+size : to]); len(follows) > 0 {
			alone = follows[0] == '#'
		}
		first := len(before) <= dashes
		whole := alone && len(before) < at && (bytes.HasSuffix(before, []byte(":")) || bytes.HasSuffix(before, []byte("-")))
		if r == anything || r == data && !whole {
			w.doubt(from + at)
		}
		alone = alone && (r == lines || r == anything && first)
		if alone || r == lines {
			_, indents := w.holes[from+at]
			w.hole(from+at, indent, alone && (first || whole || indents))
		}
		copy(line[at:], standIn(alone))
		to = at
	}
}

// standIn returns the text for output that is unknown: nothing where whole lines may be printed, else a scalar.
func standIn(wholeLines bool) string {
	if wholeLines {
		return gap
	}
	return string(value)
}

// hole notes that nobody knows what is printed at an offset. Beside other text, it may begin or end the whole line.
func (w *way) hole(at, indent int, alone bool) {
	if known, indents := w.holes[at]; indents {
		indent = known
	}
	if !alone {
		indent--
		w.mixed[at] = true
	}
	w.holes[at] = indent
}

// origin returns where in the template a byte of the text comes from.
func (w *way) origin(offset int) int {
	i := sort.Search(len(w.pieces), func(i int) bool { return w.pieces[i].at > offset }) - 1
	if i < 0 {
		return 0
	}
	p := w.pieces[i]
	if p.literal {
		return p.pos + offset - p.at
	}
	return p.pos
}
