package outline

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/syntax"
)

// maxFree is how many branches and loops before a fault are tried in another way.
const maxFree = 8

// control matches what begins, ends or leaves a branch or a loop.
var control = regexp.MustCompile(`\b(if|else|end|with|range|break|continue)\b`)

// unclear reports whether it cannot be told from the way alone what stands at a place: there are branches in its line, or it, or what it
// is compared with, belongs to something that an action before it may have begun.
func (w *way) unclear(u *syntax.Unit, err *yaml.LoadError) bool {
	at := w.offset(err.Mark.Line, err.Mark.Column)
	from, to := w.span(w.origin(at))
	if control.MatchString(actionsIn(u, from, to)) || w.inHole(at) || w.inBrackets(err, at) {
		return true
	}
	for n := err.Mark.Line - 1; n > 0; n-- {
		if strings.Trim(w.line(n), " ") != "" {
			return w.inHole(w.offset(n, 1))
		}
	}
	return false
}

// inBrackets reports whether an error is about what is missing between brackets, where an action may print it.
func (w *way) inBrackets(err *yaml.LoadError, at int) bool {
	from := 0
	switch err.Message {
	case "did not find expected ',' or ']'", "did not find expected ',' or '}'":
		from = w.offset(err.ContextMark.Line, err.ContextMark.Column)
	case "did not find expected node content":
	default:
		return false
	}
	return len(w.holesIn(from, at)) > 0
}

// actionsIn returns a part of a template with spaces in place of its own text.
func actionsIn(u *syntax.Unit, from, to int) string {
	part := []byte(u.Text.Content[from:to])
	var blank func(l *parse.ListNode)
	blank = func(l *parse.ListNode) {
		if l == nil {
			return
		}
		for _, n := range l.Nodes {
			if b := syntax.Branch(n); b != nil {
				blank(b.List)
				blank(b.ElseList)
			}
			text, ok := n.(*parse.TextNode)
			for i := max(from, int(n.Position())); ok && i < min(to, int(text.Pos)+len(text.Text)); i++ {
				part[i-from] = ' '
			}
		}
	}
	blank(u.Body())
	return string(part)
}

// inHole reports whether a place belongs to something that an action above may have begun of which nobody knows what it prints: it is
// indented further, and so is all between them.
func (w *way) inHole(at int) bool {
	from, to := w.bounds(at)
	line := w.out[from:to]
	if len(bytes.Trim(line, " \t\r"+string(value))) == 0 {
		return true // there is nothing of the author's
	}
	for _, hole := range w.holesIn(from, to) {
		if hole < at || w.mixed[hole] {
			return true
		}
	}
	for least := indentation(line); from > 0; {
		from, to = w.bounds(from - 1)
		for _, hole := range w.holesIn(from, to) {
			if w.holes[hole] < least {
				return true
			}
		}
		least = min(least, indentation(w.out[from:to]))
	}
	return false
}

// bounds returns where the line begins and ends that an offset is in.
func (w *way) bounds(at int) (from, to int) {
	to = len(w.out)
	if i := bytes.IndexByte(w.out[at:], '\n'); i >= 0 {
		to = at + i
	}
	return bytes.LastIndexByte(w.out[:at], '\n') + 1, to
}

// holesIn returns the holes from one offset on and before another one.
func (w *way) holesIn(from, to int) []int {
	i, _ := slices.BinarySearch(w.places, from)
	j, _ := slices.BinarySearch(w.places, to)
	return w.places[i:max(i, j)]
}

// indentation returns how many spaces a line begins with; very many if there is nothing else in it.
func indentation(line []byte) int {
	text := bytes.TrimLeft(line, " ")
	if len(bytes.TrimSpace(text)) == 0 {
		return longest
	}
	return len(line) - len(text)
}

// confirmed reports whether there is a fault at the same line of the template whatever is chosen of the branches and loops before it that
// it is not in, as far as that is tried.
func (f *Finder) confirmed(u *syntax.Unit, w *way, mark yaml.Mark) bool {
	at := w.origin(w.offset(mark.Line, mark.Column))
	chain, loop := enclosing(u.Body(), at)
	var free []parse.Node
	for _, n := range w.nodes {
		if _, around := chain[n]; !around && int(n.Position()) < at && !slices.Contains(free, n) {
			free = append(free, n)
		}
	}
	free = free[max(0, len(free)-maxFree):]
	for other := range 2 {
		for _, flipped := range append([]parse.Node{nil}, free...) {
			if !f.failsAt(u, at, func(n parse.Node, _ int) int {
				if rounds, around := chain[n]; around {
					return rounds
				}
				if n == flipped {
					return 1 - other
				}
				return other
			}) {
				return false
			}
		}
	}
	return loop == nil || f.inRounds(u, at, chain, loop)
}

// inRounds reports whether there is a fault at the place also where other rounds of the loop around it choose otherwise.
func (f *Finder) inRounds(u *syntax.Unit, at int, chain map[parse.Node]int, loop parse.Node) bool {
	for _, pattern := range []string{"-+", "+-", "-+-"} {
		if !f.failsAt(u, at, func(n parse.Node, round int) int {
			rounds, around := chain[n]
			switch {
			case n == loop:
				return len(pattern)
			case !around:
				return 1
			case n.Position() > loop.Position() && round < len(pattern) && pattern[round] == '-':
				return 1 - min(rounds, 1)
			}
			return rounds
		}) {
			return false
		}
	}
	return true
}

// failsAt reports whether what a way yields has its first fault, a clear one, in the line of the template that a place is in.
func (f *Finder) failsAt(u *syntax.Unit, at int, choose chooser) bool {
	if pause(f.Pause).ended() {
		return false
	}
	w := follow(u, f.prints, choose)
	err := f.first(w, -1)
	if err == nil || w.unclear(u, err) {
		return false
	}
	line, _ := w.span(at)
	same, _ := w.span(w.origin(w.offset(err.Mark.Line, err.Mark.Column)))
	return line == same
}

// enclosing returns the branches and loops that a place is in, with whether it is in their bodies (1) or behind else (0), and the innermost
// loop.
func enclosing(body *parse.ListNode, at int) (chain map[parse.Node]int, loop parse.Node) {
	chain = map[parse.Node]int{}
	for within := body; within != nil; {
		within = deeper(within, at, func(n parse.Node, rounds int) {
			chain[n] = rounds
			if n.Type() == parse.NodeRange && rounds > 0 {
				loop = n
			}
		})
	}
	return chain, loop
}

// deeper returns the list of a branch or loop in a list that a place is in, or nil.
func deeper(l *parse.ListNode, at int, into func(n parse.Node, rounds int)) *parse.ListNode {
	for _, n := range l.Nodes {
		b := syntax.Branch(n)
		switch {
		case b == nil:
		case holds(b.List, at):
			into(n, 1)
			return b.List
		case holds(b.ElseList, at):
			into(n, 0)
			return b.ElseList
		}
	}
	return nil
}

// holds reports whether a place is in what a list writes itself, or in what is in it.
func holds(l *parse.ListNode, at int) bool {
	if l == nil {
		return false
	}
	for _, n := range l.Nodes {
		if b := syntax.Branch(n); b != nil && (holds(b.List, at) || holds(b.ElseList, at)) {
			return true
		}
		switch n := n.(type) {
		case *parse.TextNode:
			if at >= int(n.Pos) && at < int(n.Pos)+len(n.Text) {
				return true
			}
		case *parse.ActionNode, *parse.TemplateNode:
			if at == int(n.Position()) {
				return true
			}
		}
	}
	return false
}
