package shape

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has the rule that no two documents yield the same object: see internal/reconcile/child/factory.go. It is silent wherever
// data decide whether they do.

// identity is what two objects of one parent cannot share, as texts write it.
type identity struct {
	final                        bool // it is made before the parent goes
	group, kind, namespace, name string
}

var (
	// waits matches what has a template yield nothing for now, so that one of several may be rendered at a time.
	waits = regexp.MustCompile(`\bwait\b`)
	// includes matches calls of helpers.
	includes = regexp.MustCompile(`\b(include|template)\b`)
	// variable matches what may be another value in another template.
	variable = regexp.MustCompile(`\$\w`)
	// indented matches how far an action indents what it prints.
	indented = regexp.MustCompile(`\bnindent (\d+)`)
)

// again notes objects that are yielded already, and those that are parents, too.
func (c *checker) again() {
	first := map[identity]string{} // where, in words
	helpersWait := c.helpersWait()
	for _, u := range c.units.Children {
		if content := u.Text.Content; waits.MatchString(content) || helpersWait && includes.MatchString(content) {
			continue
		}
		s := c.Skeleton(u)
		for i, d := range s.Documents {
			at := &shape{c: c, s: s, first: d.First}
			to := len(u.Text.Content)
			if i+1 < len(s.Documents) {
				to = s.Text.Offset(s.Documents[i+1].First, 1)
			}
			id, ok := at.identity(d, to)
			if !ok || !c.Step() {
				continue
			}
			at.parent(d, id, to)
			name := entryOf(entryOf(d.Root, "metadata"), "name")
			if where, twice := first[id]; twice {
				c.Warn(finding.SameObject, at.place(name), "", "%s yields this %s, too, and neither is applied: give each object its own name", where, id.kind)
				continue
			}
			first[id] = u.Text.Name + ":" + strconv.Itoa(d.First+name.Line-1)
		}
	}
}

// helpersWait reports whether a helper may have templates wait.
func (c *checker) helpersWait() bool {
	var last *syntax.Text // most are of one text
	for _, def := range c.units.Helpers {
		if def.Text == last {
			continue
		}
		if last = def.Text; waits.MatchString(last.Content) {
			return true
		}
	}
	return false
}

// identity returns that of the object of a document, which ends at an offset, or false if it depends on data whether there is one, or which.
func (at *shape) identity(d outline.Document, to int) (id identity, ok bool) {
	kind, ok := d.Kind()
	metadata := entryOf(d.Root, "metadata")
	if !ok || metadata == d.Root || metadata.Kind != yaml.MappingNode || !at.begins() || !at.always(entryNode(d.Root, "metadata")) {
		return id, false
	}
	id = identity{final: at.c.finals[at.s.Text.Name], group: kind.Group, kind: kind.Kind}
	for _, each := range []struct {
		in   *yaml.Node
		key  string
		text *string
	}{{d.Root, "apiVersion", new(string)}, {d.Root, "kind", new(string)}, {metadata, "name", &id.name}, {metadata, "namespace", &id.namespace}} {
		if *each.text, ok = at.written(each.in, each.key); !ok {
			return id, false
		}
	}
	return id, id.name != "" && (id.namespace != "" || !at.mayAdd(d.Root, metadata, to))
}

// begins reports whether the document begins where it does whatever the data.
func (at *shape) begins() bool {
	return at.first == 1 || at.s.Always(at.s.Text.Offset(at.first-1, 1), at.s.Text.Offset(at.first, 1))
}

// always reports whether a key or a text is there whatever the data.
func (at *shape) always(n *yaml.Node) bool {
	place := at.place(n)
	return at.s.Always(place.Offset, place.end())
}

// written returns the text under a key of a mapping, with what it is printed by: the same text is the same value in all templates. It is ""
// if there is no such key, and false if data decide about that, or if it is not all in one line.
func (at *shape) written(m *yaml.Node, key string) (text string, known bool) {
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
	if !outline.PrintedIn(v.Value) {
		return v.Value, true
	}
	place := at.place(v)
	text = strings.Trim(at.s.Text.Content[place.Offset:place.end()], `"'`)
	return text, !variable.MatchString(text)
}

// mayAdd reports whether an action may print a namespace into metadata: one that prints lines there, and not below a key of it.
func (at *shape) mayAdd(root, metadata *yaml.Node, to int) bool {
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
func (at *shape) metadata(root *yaml.Node, to int) (from, end int) {
	from = at.place(entryNode(root, "metadata")).Offset
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := at.place(root.Content[i]).Offset; key > from {
			to = min(to, key)
		}
	}
	return from, to
}

// finalTemplates returns the names of the templates of entries of finalize.
func finalTemplates(s *v1.TemplateControllerSpec) map[string]bool {
	names := map[string]bool{}
	for _, final := range spec.Finals(s) {
		names[syntax.ChildName(final.Name)] = true
	}
	return names
}
