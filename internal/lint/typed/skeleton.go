package typed

import (
	"slices"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/render/syntax"
	"github.com/templater-dev/templater/internal/separator"
)

// skeleton is the YAML that the text of a template shows, whatever its actions print: all branches of it, once.
type skeleton struct {
	text *syntax.Text
	// documents are those that could be read. others says that there may be more.
	documents []yamlDocument
	others    bool
	prints    []int // where actions begin that print, in order
	adds      bool  // actions in lines of their own print, of which the documents show nothing
	lines     []int // offsets at which they begin; see starts
}

// yamlDocument is one YAML document of a skeleton, and in which line of the template it begins.
type yamlDocument struct {
	root  *yaml.Node
	first int
}

// blank stands for each character of what is printed: a private one, that no author writes.
const blank = '\uE0F1'

// maxSkeletons bounds how many documents of a template are looked at.
const maxSkeletons = 200

// maxSkeleton bounds the text of which a skeleton is made, in bytes.
const maxSkeleton = 128 << 10

// skeletonOf reads the text of a template.
func skeletonOf(u *syntax.Unit) *skeleton {
	s := &skeleton{text: u.Text}
	content := u.Text.Content
	if len(content) > maxSkeleton || strings.ContainsRune(content, blank) {
		s.others = true
		return s
	}
	g := gaps{content: content, own: make([]bool, len(content))}
	if !g.list(u.Body()) {
		s.others = true
		return s
	}
	lines, ok := g.lines()
	if !ok {
		s.others = true
		return s
	}
	s.others, s.adds, s.prints = g.unplaced, g.adds, g.prints
	s.read(lines)
	return s
}

// read reads the documents of lines.
func (s *skeleton) read(lines []string) {
	first := 0
	for i := 0; i <= len(lines) && len(s.documents) < maxSkeletons; i++ {
		if i < len(lines) && !separator.Begins(lines[i]) {
			continue
		}
		s.document(lines[first:i], first+1)
		first = i + 1
	}
}

func (s *skeleton) document(lines []string, first int) {
	text := strings.Join(lines, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil || len(root.Content) != 1 {
		s.others = true // what it is cannot be told without data
		return
	}
	s.documents = append(s.documents, yamlDocument{root.Content[0], first})
}

// gaps tells the author's own text from actions.
type gaps struct {
	content string
	own     []bool // by byte: it is text and not in an action
	prints  []int  // where actions begin that print
	// unplaced says that something is printed of which nobody knows where it stands.
	unplaced bool
	// adds says that an action prints in a line of its own.
	adds bool
}

// list notes the text in nodes. It reports false where the parser's text is not the author's.
func (g *gaps) list(l *parse.ListNode) bool {
	if l == nil {
		return true
	}
	for _, n := range l.Nodes {
		if !g.node(n) {
			return false
		}
	}
	return true
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
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 && !outline.Ends(n) {
			g.prints = append(g.prints, int(n.Pos))
			g.unplaced = g.unplaced || g.atMargin(n)
		}
	case *parse.TemplateNode:
		g.prints = append(g.prints, int(n.Pos))
		g.unplaced = true
	case *parse.IfNode:
		return g.list(n.List) && g.list(n.ElseList)
	case *parse.WithNode:
		return g.list(n.List) && g.list(n.ElseList)
	case *parse.RangeNode:
		return g.list(n.List) && g.list(n.ElseList)
	}
	return true
}

// atMargin reports whether an action may print whole documents: it stands at the beginning of a line.
func (g *gaps) atMargin(n *parse.ActionNode) bool {
	from := int(n.Pos)
	for from > 0 && g.content[from-1] != '\n' {
		if from--; g.own[from] || from > 0 && g.content[from] == ' ' && g.content[from-1] == '\n' {
			return false
		}
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
	case !gap && (line == "" || own && g.own[from+indentation(line)] && g.begins(from, line)):
		return strings.TrimSuffix(line, "\r"), true
	case !own:
		g.adds = g.adds || anyIn(g.prints, from, from+len(line))
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
	if from == 0 || g.own[from-1] && (indentation(line) == 0 || g.own[from]) {
		return true
	}
	// The line end before is part of an action or was trimmed by one: by that which ends the line before, or by that
	// which begins this one.
	if !g.own[from-1] && len(line) > 0 && g.own[from+min(indentation(line), len(line)-1)] {
		before := g.content[:from-1]
		last := before[strings.LastIndexByte(before, '\n')+1:]
		return indentation(last) == indentation(line) && !slices.Contains(g.own[from-1-len(last)+indentation(last):from-1], true)
	}
	return indentation(line) < len(line) && !g.own[from+indentation(line)] && g.startsAction(from+indentation(line))
}

// startsAction reports whether an action begins at an offset, and not in a line before.
func (g *gaps) startsAction(at int) bool {
	const longest = 12 // of a delimiter, and white space
	i, _ := slices.BinarySearch(g.prints, at)
	return i < len(g.prints) && g.prints[i] <= at+longest
}

// anyIn reports whether one of the offsets, which are in order, is from one on and before another one.
func anyIn(offsets []int, from, to int) bool {
	i, _ := slices.BinarySearch(offsets, from)
	return i < len(offsets) && offsets[i] < to
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// offset returns the offset of a place in a document, in bytes of the template.
func (s *skeleton) offset(starts []int, line, column int) int {
	if line < 1 || line > len(starts) {
		return 0
	}
	at := starts[line-1]
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(s.text.Content[at:])
		at += size
	}
	return min(at, len(s.text.Content))
}

// starts returns the offsets at which lines begin.
func (s *skeleton) starts() []int {
	if s.lines == nil {
		s.lines = []int{0}
		for i := range len(s.text.Content) {
			if s.text.Content[i] == '\n' {
				s.lines = append(s.lines, i+1)
			}
		}
	}
	return s.lines
}
