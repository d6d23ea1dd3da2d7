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
	first int // first line of the document in the template
}

// place returns the place of a node.
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

// begins reports whether the start of the document is independent of data.
func (at *docText) begins() bool {
	return at.first == 1 || at.s.Always(at.s.Text.Offset(at.first-1, 1), at.s.Text.Offset(at.first, 1))
}

// always reports whether a key or text is rendered for any data.
func (at *docText) always(n *yaml.Node) bool {
	place := at.place(n)
	return at.s.Always(place.Offset, place.End())
}

// written returns the source text of the value of a key, including actions: the same text is the same value in all templates. It is ""
// if there is no such key, and false if that depends on data, or if the value spans several lines.
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
		return "", true // reported when rendering
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

// mayAdd reports whether an action can add a namespace to metadata: it prints lines there that are not below a key.
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

// metadata returns the start and end of the metadata of a document that ends at an offset.
func (at *docText) metadata(root *yaml.Node, to int) (from, end int) {
	from = at.place(entryNode(root, "metadata")).Offset
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := at.place(root.Content[i]).Offset; key > from {
			to = min(to, key)
		}
	}
	return from, to
}

// label returns the value of a label in the text, "" if it has none, and whether that is known.
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

// Labels returns the labels that all objects of the template have, whatever the data.
func (s *Skeleton) Labels() (all []string) {
	for i, d := range s.Documents {
		var keys []string
		at := docText{s, d.First}
		if own := valueOf(d.Root, "metadata"); own != nil {
			if own = valueOf(own, "labels"); own != nil && own.Kind == yaml.MappingNode {
				for j := 0; j < len(own.Content); j += 2 {
					if key := own.Content[j]; !PrintedIn(key.Value) && at.always(key) {
						keys = append(keys, key.Value)
					}
				}
			}
		}
		if i == 0 {
			all = keys
		}
		all = slices.DeleteFunc(all, func(key string) bool { return !slices.Contains(keys, key) })
	}
	if s.Others {
		return nil
	}
	return all
}

// ownLabels is the prefix of the labels that templater sets.
const ownLabels = "templater.dev/"
