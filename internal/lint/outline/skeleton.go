// Package outline parses the YAML that a template contains literally, and compares it with the schemas of its kinds: fields, types, namespaces
// and best practices.
//
// A Skeleton is that YAML with the offset of each node. Yields returns the kinds of all objects, including those in define blocks. The
// package is pure, and limits its work.
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

// Skeleton is the literal YAML of a template without the output of actions. It has each branch once.
type Skeleton struct {
	Text *syntax.Text
	// Documents are the parsed documents. Others means that there can be more.
	Documents []Document
	Others    bool
	// Bare are documents that consist of one action.
	Bare     []*parse.ActionNode
	prints   []parse.Node // the actions that print, in order
	adds     []int        // offsets of lines with only actions, which the documents do not show
	branches []span       // bodies of branches and loops, in order
	joints   []joint
}

// joint is a place where the output of an action and literal text always form one word.
type joint struct{ action, character int }

// span is a part of a template: byte offsets, the second one exclusive.
type span struct{ from, to int }

// Document is one YAML document of a skeleton, with its first line in the template.
type Document struct {
	Root  *yaml.Node
	First int
}

// blank replaces each character of an action: a private-use character.
const blank = '\uE0F1'

// maxSkeletons is the maximum number of documents of a template that are checked.
const maxSkeletons = 200

// maxSkeleton is the maximum size of a template with a skeleton, in bytes.
const maxSkeleton = 128 << 10

// Skeletons creates and caches the skeletons of the templates of one TemplateController. It is not safe for concurrent use.
type Skeletons struct {
	// Pause is called regularly. An error stops the work and invalidates its result; nil = no pauses.
	Pause func() error

	made map[*syntax.Unit]*Skeleton
	// read and begun count the marks in documents, and in beginnings of templates.
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

// of creates the skeleton of a template.
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

// documents parses the documents in lines.
func (all *Skeletons) documents(s *Skeleton, lines []string) {
	for _, part := range divide(lines) {
		if len(s.Documents) >= maxSkeletons {
			return
		}
		all.document(s, part.lines, part.first)
	}
}

// part has the lines of a document, and the number of the first one.
type part struct {
	lines []string
	first int
}

// divide splits lines at document markers, which are omitted.
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
		s.Others = true // depends on data
		return
	}
	s.Documents = append(s.Documents, Document{root, first})
}

// bare records the action that prints all of the lines between two lines, if there is exactly one.
func (s *Skeleton) bare(from, to int) {
	if all := s.PrintsIn(s.Text.Offset(from, 1), s.Text.Offset(to, 1)); len(all) == 1 {
		if n, ok := all[0].(*parse.ActionNode); ok {
			s.Bare = append(s.Bare, n)
		}
	}
}

// gaps separates literal text from actions.
type gaps struct {
	content string
	own     []bool       // by byte: literal text, outside of actions
	prints  []parse.Node // the actions that print, in order
	// unplaced means that the place of some output is unknown.
	unplaced bool
	adds     []int // offsets of lines with only actions
	branches []span
	joints   []joint
	depth    int // of branches and loops
	// before is the last action that beginsLine was called for, and its result.
	before struct {
		at     int
		begins bool
	}
}

// list records the text in nodes. It returns false if the parser's text differs from the source.
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

// join records where the output of an action touches literal text.
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

// inBranch records the node at an offset if it is in a branch or loop.
func (g *gaps) inBranch(from, length int) {
	if g.depth > 0 {
		g.branches = append(g.branches, span{from, from + length})
	}
}

// beginsLine reports whether the line has no literal text before an action.
func (g *gaps) beginsLine(n *parse.ActionNode) bool {
	begins := true
	for from := int(n.Pos); begins && from > 0 && g.content[from-1] != '\n'; {
		if from == g.before.at { // the part before is known
			begins = g.before.begins
			break
		}
		from--
		begins = !g.own[from] && (from == 0 || g.content[from] != ' ' || g.content[from-1] != '\n')
	}
	g.before.at, g.before.begins = int(n.Pos), begins
	return begins
}

// atMargin reports whether an action can print whole documents: it is at the beginning of a line.
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

// lines returns the lines of the skeleton: lines with only actions are omitted, other actions are blanks. It returns false
// if the structure depends on white space that actions trim.
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

// begins reports whether a line of the template also begins a line of the output, with the same indentation: its line end is
// literal, or the action that trims it is at the same place.
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

// within returns the nodes (in order) that begin between two offsets.
func within(nodes []parse.Node, from, to int) []parse.Node {
	begins := func(n parse.Node, offset int) int { return cmp.Compare(int(n.Position()), offset) }
	i, _ := slices.BinarySearchFunc(nodes, from, begins)
	j, _ := slices.BinarySearchFunc(nodes, to, begins)
	return nodes[i:max(i, j)]
}

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
