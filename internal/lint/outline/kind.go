package outline

import (
	"cmp"
	"slices"
	"strings"
	"text/template/parse"

	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
)

// PrintedIn reports whether an action prints part of a text.
func PrintedIn(text string) bool { return strings.ContainsRune(text, blank) }

// OnlyPrinted reports whether a non-empty text is printed by actions only.
func OnlyPrinted(text string) bool { return text != "" && strings.Trim(text, string(blank)) == "" }

// PrintsIn returns the printing actions that begin between two offsets.
func (s *Skeleton) PrintsIn(from, to int) []parse.Node { return within(s.prints, from, to) }

// Joined returns the offsets of the pipelines of actions whose output is always part of a word with literal text, between two
// offsets.
func (s *Skeleton) Joined(from, to int) (actions []int) {
	i, _ := slices.BinarySearchFunc(s.joints, from, func(j joint, from int) int { return cmp.Compare(j.action, from) })
	for _, j := range s.joints[i:] {
		if j.action >= to {
			break
		}
		if j.character >= from && j.character < to {
			actions = append(actions, j.action)
		}
	}
	return actions
}

// Adds reports whether actions on lines of their own print lines that the documents do not show.
func (s *Skeleton) Adds() bool { return len(s.adds) > 0 }

// AddsIn returns the offsets of such lines between two offsets.
func (s *Skeleton) AddsIn(from, to int) []int {
	i, _ := slices.BinarySearch(s.adds, from)
	j, _ := slices.BinarySearch(s.adds, to)
	return s.adds[i:max(i, j)]
}

// Always reports whether the text between two offsets is outside of branches and loops.
func (s *Skeleton) Always(from, to int) bool {
	i, _ := slices.BinarySearchFunc(s.branches, from, func(b span, from int) int { return cmp.Compare(b.to, from+1) })
	return i == len(s.branches) || s.branches[i].from >= to
}

// Kinds returns the kinds of all documents, or none if there can be others.
func (s *Skeleton) Kinds() (all []gvk.GroupVersionKind) {
	for _, d := range s.Documents {
		found, ok := d.Kind()
		if !ok {
			return nil
		}
		if !slices.Contains(all, found) {
			all = append(all, found)
		}
	}
	if s.Others {
		return nil
	}
	return all
}

// Kind returns the literal kind of a document, or false if it has none or several.
func (d Document) Kind() (kind gvk.GroupVersionKind, ok bool) {
	version, name := literalIn(d.Root, "apiVersion"), literalIn(d.Root, "kind")
	gv, err := gvk.ParseGroupVersion(version)
	if err != nil || version == "" || name == "" {
		return kind, false
	}
	return gv.WithKind(name), true
}

// literalIn returns the literal value of a key of a mapping, or "" if it is not literal, or ambiguous.
func literalIn(root *yaml.Node, key string) string {
	text := ""
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != key {
			continue
		}
		value := root.Content[i+1]
		if value.Kind != yaml.ScalarNode || PrintedIn(value.Value) || text != "" && text != value.Value {
			return ""
		}
		text = value.Value
	}
	return text
}
