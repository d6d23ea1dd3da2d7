package syntax

import (
	"cmp"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"github.com/templater-dev/templater/internal/finding"
)

// mostUnclosed is how many blocks without an end are looked for.
const mostUnclosed = 10

// unclosed reports the blocks of a text that have no end, or none when the
// text has other faults, too. The parser names only the last line: so ends are
// added until it is content, and what is around the place behind the text is
// what lacks them.
func (c *compiler) unclosed(t *Text) []*Error {
	const behind = "\ue000behind" // no delimiter, and no white space that could be trimmed
	content, end := t.Content+behind, c.left()+"end"+c.right()
	// With too few ends the parser says so, with too many it says something else: that takes a few looks, not one for each number.
	var trees map[string]*parse.Tree
	few := func(ends int) bool {
		found, err := c.tryParse(content + strings.Repeat(end, ends))
		if err == nil {
			trees = found
		}
		return err != nil && strings.HasSuffix(err.Error(), "unexpected EOF")
	}
	if few(mostUnclosed) {
		return nil
	}
	for least, most := 1, mostUnclosed-1; trees == nil && least <= most; {
		if middle := (least + most) / 2; few(middle) {
			least = middle + 1
		} else {
			most = middle - 1
		}
	}
	for _, name := range sorted(trees) {
		root := trees[name].Root
		if around, found := enclosing(root, len(t.Content)); found {
			return c.unclosedAt(t, name, root, around)
		}
	}
	return nil
}

func (c *compiler) tryParse(content string) (map[string]*parse.Tree, error) {
	trees := map[string]*parse.Tree{}
	tree := parse.New("")
	tree.Mode = parse.SkipFuncCheck
	_, err := tree.Parse(content, c.src.LeftDelim, c.src.RightDelim, trees)
	return trees, err
}

// unclosedAt makes findings of the blocks around a place, and of the define
// block that they are in, if they are in one.
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

// enclosing returns the blocks around the text at a place, from the outermost.
func enclosing(list *parse.ListNode, place int) (around []parse.Node, found bool) {
	if list == nil {
		return nil, false
	}
	for _, n := range list.Nodes {
		var branch *parse.BranchNode
		switch n := n.(type) {
		case *parse.TextNode:
			if int(n.Pos) <= place && place < int(n.Pos)+len(n.Text) {
				return nil, true
			}
			continue
		case *parse.IfNode:
			branch = &n.BranchNode
		case *parse.WithNode:
			branch = &n.BranchNode
		case *parse.RangeNode:
			branch = &n.BranchNode
		default:
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
