// Package outline parses the YAML that a template contains literally, and compares it with the schemas of its kinds: fields, types, namespaces
// and best practices.
//
// A Skeleton is that YAML with the offset of each node. Yields returns the kinds of all objects, also of those that define blocks print. The
// package is pure, and its work is bounded.
package outline

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Skeleton is the YAML that the text of a template shows, whatever its actions print: all branches of it, once.
type Skeleton struct {
	Text *syntax.Text
	// Documents are those that could be read. Others says that there may be more.
	Documents []Document
	Others    bool
	// Bare are the documents of which one action prints everything.
	Bare     []*parse.ActionNode
	prints   []parse.Node // the actions that print, in order
	adds     []int        // where lines begin in which nothing but actions print, of which the documents show nothing
	branches []span       // what branches and loops decide about, in order
	joints   []joint
}

// joint is where what an action prints is always one word with a character of the author's.
type joint struct{ action, character int }

// span is a part of a template: offsets in bytes, and the second one is behind it.
type span struct{ from, to int }

// Document is one YAML document of a skeleton, and in which line of the template it begins.
type Document struct {
	Root  *yaml.Node
	First int
}

// blank stands for each character of what is printed: a private one, that no author writes.
const blank = '\uE0F1'

// maxSkeletons bounds how many documents of a template are looked at.
const maxSkeletons = 200

// maxSkeleton bounds the text of which a skeleton is made, in bytes.
const maxSkeleton = 128 << 10

// Skeletons makes the skeletons of the templates of one TemplateController, each once. It is not safe for concurrent use.
type Skeletons struct {
	// Pause is called now and then. An error ends the work, and then what is made means nothing; nil = there are no pauses.
	Pause func() error

	made map[*syntax.Unit]*Skeleton
	// read and begun are the marks of what is read as documents, and as beginnings of templates.
	read, begun int
}

// Of returns the skeleton of a template.
func (all *Skeletons) Of(u *syntax.Unit) *Skeleton {
	s := all.made[u]
	if s == nil {
		if all.made == nil {
			all.made = map[*syntax.Unit]*Skeleton{}
		}
		s = all.of(u)
		all.made[u] = s
	}
	return s
}

// of reads the text of a template.
func (all *Skeletons) of(u *syntax.Unit) *Skeleton {
	s := &Skeleton{Text: u.Text}
	content := u.Text.Content
	if pause(all.Pause).ended() || len(content) > maxSkeleton || strings.ContainsRune(content, blank) {
		s.Others = true
		return s
	}
	g := gaps{content: content, own: make([]bool, len(content))}
	if !g.list(u.Body()) {
		s.Others = true
		return s
	}
	lines, ok := g.lines()
	if !ok {
		s.Others = true
		return s
	}
	s.Others, s.adds, s.prints, s.branches, s.joints = g.unplaced, g.adds, g.prints, g.branches, g.joints
	all.documents(s, lines)
	return s
}

// documents reads the documents of lines.
func (all *Skeletons) documents(s *Skeleton, lines []string) {
	for _, part := range divide(lines) {
		if len(s.Documents) >= maxSkeletons {
			return
		}
		all.document(s, part.lines, part.first)
	}
}

// part are the lines of a document, and the number of the first one.
type part struct {
	lines []string
	first int
}

// divide divides lines at those that begin or end documents, which are left out.
func divide(lines []string) (all []part) {
	first := 0
	for i, line := range lines {
		if document.BeginsDocument(line) || document.EndsDocument(line) {
			all = append(all, part{lines[first:i], first + 1})
			first = i + 1
		}
	}
	return append(all, part{lines[first:], first + 1})
}

func (all *Skeletons) document(s *Skeleton, lines []string, first int) {
	text := []byte(strings.Join(lines, "\n"))
	if len(bytes.TrimSpace(text)) == 0 {
		s.bare(first, first+len(lines))
		return
	}
	var root *yaml.Node
	if spend(&all.read, text) {
		root = pause(all.Pause).document(text)
	}
	if root == nil {
		s.Others = true // what it is cannot be told without data
		return
	}
	s.Documents = append(s.Documents, Document{root, first})
}

// bare keeps the action that prints all of the lines from one on and before another one, if it is one.
func (s *Skeleton) bare(from, to int) {
	if all := s.PrintsIn(s.Text.Offset(from, 1), s.Text.Offset(to, 1)); len(all) == 1 {
		if n, ok := all[0].(*parse.ActionNode); ok {
			s.Bare = append(s.Bare, n)
		}
	}
}

// gaps tells the author's own text from actions.
type gaps struct {
	content string
	own     []bool       // by byte: it is text and not in an action
	prints  []parse.Node // the actions that print, in order
	// unplaced says that something is printed of which nobody knows where it stands.
	unplaced bool
	adds     []int // where lines begin in which nothing but actions print
	branches []span
	joints   []joint
	depth    int // of branches and loops
	// before is the last action that beginsLine was asked about, and what it said.
	before struct {
		at     int
		begins bool
	}
}

// list notes the text in nodes. It reports false where the parser's text is not the author's.
func (g *gaps) list(l *parse.ListNode) bool {
	if l == nil {
		return true
	}
	for i, n := range l.Nodes {
		if !g.node(n) {
			return false
		}
		if i > 0 {
			g.join(l.Nodes[i-1], n)
			g.join(n, l.Nodes[i-1])
		}
	}
	return true
}

// join notes where an action that prints, and text right before or behind it, touch each other.
func (g *gaps) join(action, text parse.Node) {
	n, ok := action.(*parse.ActionNode)
	own, also := text.(*parse.TextNode)
	if !ok || !also || len(n.Pipe.Decl) > 0 || len(own.Text) == 0 {
		return
	}
	at := 0
	if own.Pos < n.Pos {
		at = len(own.Text) - 1
	}
	if !strings.ContainsRune(" \t\r\n", rune(own.Text[at])) {
		g.joints = append(g.joints, joint{int(n.Pipe.Pos), int(own.Pos) + at})
	}
}

func (g *gaps) node(n parse.Node) bool {
	switch n := n.(type) {
	case *parse.TextNode:
		from := int(n.Pos)
		if from < 0 || from+len(n.Text) > len(g.content) || g.content[from:from+len(n.Text)] != string(n.Text) {
			return false
		}
		for i := range n.Text {
			g.own[from+i] = true
		}
		g.inBranch(from, len(n.Text))
	case *parse.ActionNode:
		g.inBranch(int(n.Pos), 1)
		if len(n.Pipe.Decl) == 0 && !syntax.Ends(n.Pipe) {
			g.prints = append(g.prints, n)
			g.unplaced = g.unplaced || g.atMargin(n)
		}
	case *parse.TemplateNode:
		g.inBranch(int(n.Pos), 1)
		g.prints = append(g.prints, n)
		g.unplaced = true
	}
	b := syntax.Branch(n)
	if b == nil {
		return true
	}
	g.depth++
	g.inBranch(int(b.Pos), 1)
	fine := g.list(b.List) && g.list(b.ElseList)
	g.depth--
	return fine
}

// inBranch notes what stands at an offset, if a branch or a loop decides about it.
func (g *gaps) inBranch(from, length int) {
	if g.depth > 0 {
		g.branches = append(g.branches, span{from, from + length})
	}
}

// beginsLine reports whether nothing of the author's stands before an action in its line.
func (g *gaps) beginsLine(n *parse.ActionNode) bool {
	begins := true
	for from := int(n.Pos); begins && from > 0 && g.content[from-1] != '\n'; {
		if from == g.before.at { // what is before that is known
			begins = g.before.begins
			break
		}
		from--
		begins = !g.own[from] && (from == 0 || g.content[from] != ' ' || g.content[from-1] != '\n')
	}
	g.before.at, g.before.begins = int(n.Pos), begins
	return begins
}

// atMargin reports whether an action may print whole documents: it stands at the beginning of a line.
func (g *gaps) atMargin(n *parse.ActionNode) bool {
	if !g.beginsLine(n) {
		return false
	}
	for _, cmd := range n.Pipe.Cmds {
		if f, ok := cmd.Args[0].(*parse.IdentifierNode); ok && (f.Ident == "nindent" || f.Ident == "indent") && len(cmd.Args) > 1 && cmd.Args[1].String() != "0" {
			return false
		}
	}
	return true
}

// lines returns the lines of the skeleton: actions that stand alone are left out, others are blanks. It reports false
// where the structure depends on what actions do to white space.
func (g *gaps) lines() (lines []string, ok bool) {
	from := 0
	for line := range strings.Lines(g.content) {
		text, ok := g.line(from, strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, false
		}
		lines = append(lines, text)
		from += len(line)
	}
	return lines, true
}

func (g *gaps) line(from int, line string) (text string, ok bool) {
	own, gap := false, false
	for i, r := range line {
		switch {
		case g.own[from+i]:
			own = own || r != ' ' && r != '\r'
		case r != ' ' && r != '\r':
			gap = true
		}
	}
	switch {
	case !gap && (line == "" || own && g.own[from+margin(line)] && g.begins(from, line)):
		return strings.TrimSuffix(line, "\r"), true
	case !own:
		if len(within(g.prints, from, from+len(line))) > 0 {
			g.adds = append(g.adds, from)
		}
		return "", true
	case from > 0 && !g.begins(from, line):
		return "", false
	}
	var out strings.Builder
	for i, r := range line {
		if g.own[from+i] || r == ' ' && !gap {
			out.WriteRune(r)
		} else {
			out.WriteRune(blank)
		}
	}
	return out.String(), true
}

// begins reports whether a line of the template is one of the output, too, with the same indentation: its line end is the
// author's, or what took it stands at the same place.
func (g *gaps) begins(from int, line string) bool {
	if from == 0 || g.own[from-1] && (margin(line) == 0 || g.own[from]) {
		return true
	}
	// The line end before is part of an action or was trimmed by one: by that which ends the line before, or by that
	// which begins this one.
	if !g.own[from-1] && len(line) > 0 && g.own[from+min(margin(line), len(line)-1)] {
		before := g.content[:from-1]
		last := before[strings.LastIndexByte(before, '\n')+1:]
		return margin(last) == margin(line) && !slices.Contains(g.own[from-1-len(last)+margin(last):from-1], true)
	}
	return margin(line) < len(line) && !g.own[from+margin(line)] && g.startsAction(from+margin(line))
}

// startsAction reports whether an action begins at an offset, and not in a line before.
func (g *gaps) startsAction(at int) bool {
	const longest = 12 // of a delimiter, and white space
	return len(within(g.prints, at, at+longest+1)) > 0
}

// within returns those of the nodes, which are in order, that begin from one offset on and before another one.
func within(nodes []parse.Node, from, to int) []parse.Node {
	begins := func(n parse.Node, offset int) int { return cmp.Compare(int(n.Position()), offset) }
	i, _ := slices.BinarySearchFunc(nodes, from, begins)
	j, _ := slices.BinarySearchFunc(nodes, to, begins)
	return nodes[i:max(i, j)]
}

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
