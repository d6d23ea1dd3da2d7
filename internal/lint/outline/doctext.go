package outline

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/labels"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/types"
)

// docText is the text of a document.
type docText struct {
	s     *Skeleton
	first int // line of the template where the document begins
}

// place returns where a node stands.
func (at *docText) place(n *yaml.Node) types.Place {
	line, width := at.first+n.Line-1, utf8.RuneCountInString(n.Value)
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
		width += 2
	}
	offset := at.s.Text.Offset(line, n.Column)
	length := at.s.Text.Offset(line, n.Column+width) - offset
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		length = 1
	}
	return types.Place{Text: at.s.Text, Offset: offset, Length: length}
}

// begins reports whether the document begins where it does whatever the data.
func (at *docText) begins() bool {
	return at.first == 1 || at.s.Always(at.s.Text.Offset(at.first-1, 1), at.s.Text.Offset(at.first, 1))
}

// always reports whether a key or a text is there whatever the data.
func (at *docText) always(n *yaml.Node) bool {
	place := at.place(n)
	return at.s.Always(place.Offset, place.End())
}

// written returns the text under a key of a mapping, with what it is printed by: the same text is the same value in all templates. It is ""
// if there is no such key, and false if data decide about that, or if it is not all in one line.
func (at *docText) written(m *yaml.Node, key string) (text string, known bool) {
	i := slices.IndexFunc(m.Content, func(n *yaml.Node) bool { return n.Value == key })
	switch {
	case i < 0 || i%2 != 0:
		return "", !mayHave(m, key)
	case i+1 >= len(m.Content) || m.Content[i+1].Kind != yaml.ScalarNode || m.Content[i+1].Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return "", false
	}
	v := m.Content[i+1]
	if v.ShortTag() == "!!null" {
		return "", true // rendering tells
	}
	if !at.always(m.Content[i]) || !at.always(v) {
		return "", false
	}
	if !PrintedIn(v.Value) {
		return v.Value, true
	}
	place := at.place(v)
	text = strings.Trim(at.s.Text.Content[place.Offset:place.End()], `"'`)
	return text, !variable.MatchString(text)
}

// mayAdd reports whether an action may print a namespace into metadata: one that prints lines there, and not below a key of it.
func (at *docText) mayAdd(root, metadata *yaml.Node, to int) bool {
	from, to := at.metadata(root, to)
	for _, line := range at.s.AddsIn(from, to) {
		text, _, _ := strings.Cut(at.s.Text.Content[line:], "\n")
		by := indented.FindStringSubmatch(text)
		if by == nil {
			return true
		}
		if n, err := strconv.Atoi(by[1]); err != nil || n < entryNode(metadata, "name").Column {
			return true
		}
	}
	return false
}

// metadata returns where the metadata of a document, which ends at an offset, begins and ends.
func (at *docText) metadata(root *yaml.Node, to int) (from, end int) {
	from = at.place(entryNode(root, "metadata")).Offset
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := at.place(root.Content[i]).Offset; key > from {
			to = min(to, key)
		}
	}
	return from, to
}

// label returns the label of that key that the text gives an object, if it gives one, and whether that is known.
func (at *docText) label(metadata *yaml.Node, key string) (set labels.Set, known bool) {
	if strings.HasPrefix(key, ownLabels) {
		return nil, false
	}
	own, text := entryOf(metadata, "labels"), ""
	switch {
	case own == metadata:
		known = !mayHave(metadata, "labels")
	case own.Kind == yaml.MappingNode && !PrintedIn(entryOf(own, key).Value):
		text, known = at.written(own, key)
	}
	switch {
	case text != "":
		return labels.Set{key: text}, known
	case key == v1.LabelManagedBy:
		return labels.Set{key: v1.ManagedBy}, known
	}
	return nil, known
}

// ownLabels begins the labels that templater sets.
const ownLabels = "templater.dev/"
