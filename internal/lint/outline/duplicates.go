package outline

import (
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has the rule that no two documents render the same object: see internal/reconcile/child/factory.go. It reports nothing if
// that depends on data.

// identity is the source text of the fields that must be unique among the objects of a parent.
type identity struct {
	final                        bool // belongs to spec.finalize
	group, kind, namespace, name string
}

var (
	// waits matches functions that make a template wait, so that only one of several templates may render at a time.
	waits = regexp.MustCompile(`\bwait\b`)
	// includes matches calls of helpers.
	includes = regexp.MustCompile(`\b(include|template)\b`)
	// variable matches variables, which can differ between templates.
	variable = regexp.MustCompile(`\$\w`)
	// indented matches the indentation of an action's output.
	indented = regexp.MustCompile(`\bnindent (\d+)`)
)

// again reports objects that another document renders, and children that are also parents.
func (c *checker) again() {
	first := map[identity]string{} // where, in words
	helpersWait := c.helpersWait()
	for _, u := range c.Units.Children {
		if content := u.Text.Content; waits.MatchString(content) || helpersWait && includes.MatchString(content) {
			continue
		}
		s := c.Skeletons.Of(u)
		for i, d := range s.Documents {
			at := c.in(s, d)
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
				c.Warn(finding.SameObject, at.place(name), "%s also renders this %s, so neither is applied: give each object its own name", where, id.kind)
				continue
			}
			first[id] = u.Text.Name + ":" + strconv.Itoa(d.First+name.Line-1)
		}
	}
}

// helpersWait reports whether a helper can make templates wait.
func (c *checker) helpersWait() bool {
	var last *syntax.Text // most come from one text
	for _, def := range c.Units.Helpers {
		if def.Text == last {
			continue
		}
		if last = def.Text; waits.MatchString(last.Content) {
			return true
		}
	}
	return false
}

// identity returns the identity of the object of a document that ends at an offset, or false if it depends on data.
func (at *docCheck) identity(d Document, to int) (id identity, ok bool) {
	kind, ok := d.Kind()
	metadata := entryOf(d.Root, "metadata")
	if !ok || metadata == d.Root || metadata.Kind != yaml.MappingNode || !at.begins() || !at.always(entryNode(d.Root, "metadata")) {
		return id, false
	}
	id = identity{final: at.c.isFinal(at.s.Text.Name), group: kind.Group, kind: kind.Kind}
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

// isFinal reports whether a template belongs to spec.finalize.
func (c *checker) isFinal(template string) bool {
	return slices.ContainsFunc(spec.Finals(c.Spec), func(final v1.Child) bool { return syntax.ChildName(final.Name) == template })
}
