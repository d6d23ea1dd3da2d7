package syntax

import (
	"cmp"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/render/finding"
)

// mostUnclosed is the maximum number of blocks without an end that are reported: if there are more, none is.
const mostUnclosed = 10

// unclosed reports the blocks of a text that have no end, or none when the
// text has other faults, too. The parser names only the last line: so the ends
// that are missing are added, and what is around the place behind the text is
// what lacks them.
func (c *compiler) unclosed(t *Text) []*Error {
	const behind = "\ue000behind" // no delimiter, and no white space that could be trimmed
	missing := c.depth(t.Content)
	if missing < 1 || missing > mostUnclosed {
		return nil
	}
	trees, err := c.tryParse(t.Content + behind + strings.Repeat(c.left()+"end"+c.right(), missing))
	if err != nil {
		return nil
	}
	for _, name := range sorted(trees) {
		root := trees[name].Root
		if around, found := enclosing(root, len(t.Content)); found {
			return c.unclosedAt(t, name, root, around)
		}
	}
	return nil
}

// depth returns the number of blocks that begin in a text and do not end there. All of its actions are closed.
func (c *compiler) depth(text string) int {
	depth := 0
	for {
		_, action, found := strings.Cut(text, c.left())
		if !found {
			return depth
		}
		action = strings.TrimLeft(strings.TrimPrefix(action, "-"), " \t\r\n")
		switch word := action[:len(action)-len(strings.TrimLeft(action, letters))]; word {
		case "if", "range", "with", "define", "block":
			depth++
		case "end":
			depth--
		}
		_, text = inAction(action, c.right())
	}
}

const letters = "abcdefghijklmnopqrstuvwxyz"

func (c *compiler) tryParse(content string) (map[string]*parse.Tree, error) {
	trees := map[string]*parse.Tree{}
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(content, c.src.LeftDelim, c.src.RightDelim, trees)
	return trees, err
}

// unclosedAt returns findings for the blocks around a place, and for the define block that contains them, if any.
func (c *compiler) unclosedAt(t *Text, name string, root *parse.ListNode, around []parse.Node) []*Error {
	var found []*Error
	add := func(inside int) {
		at := strings.LastIndex(t.Content[:min(inside, len(t.Content))], c.left())
		action := strings.TrimLeft(t.Content[max(at, 0)+len(c.left()):], "- \t\r\n")
		if at >= 0 && !strings.HasPrefix(action, "else") { // which has no end of its own
			e := t.ErrorAt(at, Invalid, "the block that begins here has no end")
			e.Code, e.Length = finding.UnclosedBlock, c.actionLength(t.Content[at:])
			found = append(found, e)
		}
	}
	if name != "" {
		add(int(root.Pos))
	}
	for _, n := range around {
		add(int(n.Position()))
	}
	return found
}

// actionLength returns how many characters the action has that a text begins with: all of its line where that does not have the
// right delimiter.
func (c *compiler) actionLength(text string) int {
	line, _, _ := strings.Cut(text, "\n")
	if end := strings.Index(line, c.right()); end >= 0 {
		line = line[:end+len(c.right())]
	}
	return utf8.RuneCountInString(line)
}

// enclosing returns the blocks around a place, outermost first.
func enclosing(list *parse.ListNode, place int) (around []parse.Node, found bool) {
	if list == nil {
		return nil, false
	}
	for _, n := range list.Nodes {
		if text, ok := n.(*parse.TextNode); ok && int(n.Position()) <= place && place < int(n.Position())+len(text.Text) {
			return nil, true
		}
		branch := Branch(n)
		if branch == nil {
			continue
		}
		for _, inner := range []*parse.ListNode{branch.List, branch.ElseList} {
			if around, found := enclosing(inner, place); found {
				return append([]parse.Node{branch.Pipe}, around...), true
			}
		}
	}
	return nil, false
}

// left and right return the delimiters.
func (c *compiler) left() string { return cmp.Or(c.src.LeftDelim, "{{") }

func (c *compiler) right() string { return cmp.Or(c.src.RightDelim, "}}") }
