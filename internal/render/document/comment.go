package document

import (
	"cmp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/token"
)

// marks returns the marks in a text, in order, or nil if there are none.
func marks(x *token.Table, t *yamlText) []int {
	if !t.template || !x.HasMarks() {
		return nil
	}
	return x.Marks(t.content)
}

// unmark removes the marks from the scalars of a document, and adds them to found.
func unmark(x *token.Table, n *yaml.Node, found map[int]bool) {
	for _, id := range x.Marks(n.Value) {
		found[id] = true
	}
	n.Value = x.Unmarked(n.Value)
	for _, below := range n.Content {
		unmark(x, below, found)
	}
}

// uncommented is documents for text with marks. It fails if one is in a comment.
func uncommented(x *token.Table, t *yamlText, marks []int, do func(*yaml.Node) error) error {
	found := map[int]bool{}
	err := load(x, t, func(n *yaml.Node) error {
		unmark(x, n, found)
		return do(n)
	})
	if budget.Ended(err) {
		return err
	}
	if err != nil { // a comment may be the cause
		return cmp.Or(inComment(x, t), err)
	}
	for _, id := range marks {
		if !found[id] {
			return &CommentError{id}
		}
	}
	return nil
}

// inComment returns a [CommentError] for the first mark that is in a comment, judging by the text up to the end of
// the mark's line, or nil.
func inComment(x *token.Table, t *yamlText) error {
	rest := t.content
	for {
		_, id, after, ok := x.NextMark(rest)
		if !ok {
			return nil
		}
		rest = after
		line := strings.IndexFunc(after, token.IsLineEnd)
		head, err := read(x, t.content[:len(t.content)-len(after)+max(line, 0)], true)
		if err != nil {
			return nil //nolint:nilerr // there is another one to tell
		}
		found := map[int]bool{}
		err = load(x, head, func(n *yaml.Node) error { unmark(x, n, found); return nil })
		if err == nil && !found[id] {
			return &CommentError{id}
		}
	}
}
