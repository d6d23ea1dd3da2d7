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

// helpersWait reports whether a helper may have templates wait.
func (c *checker) helpersWait() bool {
	var last *syntax.Text // most are of one text
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

// identity returns that of the object of a document, which ends at an offset, or false if it depends on data whether there is one, or which.
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

// isFinal reports whether a template is that of an entry of finalize.
func (c *checker) isFinal(template string) bool {
	return slices.ContainsFunc(spec.Finals(c.Spec), func(final v1.Child) bool { return syntax.ChildName(final.Name) == template })
}
