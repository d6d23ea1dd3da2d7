package outline

import (
	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/document"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/funcs"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has the rules about what documents must have, and may not have: see internal/render/document and
// internal/reconcile/child/shape.go.

// document reports why a document is not a valid object, as far as its text decides.
func (c *checker) document(u *syntax.Unit, s *Skeleton, d Document) {
	if d.Root.Kind != yaml.MappingNode || len(d.Root.Content) == 0 {
		return
	}
	at := c.in(s, d)
	for _, key := range []string{"apiVersion", "kind"} {
		at.head(u, d.Root, key)
	}
	if v := entryNode(d.Root, "status"); v != nil {
		at.warns(v, "a template must not set status: remove it")
	}
	metadata := entryOf(d.Root, "metadata")
	for _, owned := range document.NotForTemplates {
		if v := entryNode(metadata, owned.Field); v != nil {
			at.warns(v, "metadata.%s must not be set: %s", owned.Field, owned.Advice)
		}
	}
	if metadata != d.Root {
		at.named(metadata)
	}
	at.lacks(d.Root, metadata)
}

// fails reports a node that makes the document invalid whenever it is rendered.
func (at *docCheck) fails(n *yaml.Node, format string, args ...any) {
	at.c.Fail(at.begins() && at.always(n), finding.NoObject, at.place(n), format, args...)
}

// warns reports a node that can make the document invalid.
func (at *docCheck) warns(n *yaml.Node, format string, args ...any) {
	at.c.Warn(finding.NoObject, at.place(n), format, args...)
}

// head checks the apiVersion or kind of a document, which must be literal.
func (at *docCheck) head(u *syntax.Unit, root *yaml.Node, key string) {
	v := entryOf(root, key)
	switch {
	case v == root:
	case v.Kind == yaml.MappingNode, v.Kind == yaml.SequenceNode, kindsOfNode(v)&(openapi.Integer|openapi.Number|openapi.Boolean) != 0:
		at.fails(v, "%s must be plain text in the template", key)
	case v.Kind == yaml.ScalarNode && PrintedIn(v.Value):
		place := at.place(v)
		for _, n := range at.s.PrintsIn(place.Offset, place.End()) {
			if prints, certain := at.c.Printed.OnlyValues(u, n, at.c.Step); prints {
				at.c.Fail(certain && at.begins() && at.always(v), finding.NoObject, place, "%s must be literal text in the template, so that the required permissions are known in advance; use if to choose between several", key)
				return
			}
		}
	}
}

// named checks metadata and its name.
func (at *docCheck) named(metadata *yaml.Node) {
	if metadata.Kind == yaml.SequenceNode {
		at.fails(metadata, "metadata is a list: write a mapping with a name")
		return
	}
	name := entryOf(metadata, "name")
	switch {
	case metadata.Kind != yaml.MappingNode || name == metadata:
	case name.Kind == yaml.MappingNode, name.Kind == yaml.SequenceNode:
		at.fails(name, "metadata.name is not a string: write a name")
	case name.Kind == yaml.ScalarNode && kindsOfNode(name)&^openapi.String != 0:
		at.fails(name, "metadata.name is not a string: quote it")
	}
}

// lacks reports a missing required field.
func (at *docCheck) lacks(root, metadata *yaml.Node) {
	if at.s.Adds() || at.s.Others {
		return // an action can print it
	}
	missing := ""
	switch {
	case !mayHave(root, "apiVersion"):
		missing = "apiVersion"
	case !mayHave(root, "kind"):
		missing = "kind"
	case !mayHave(root, "metadata"), metadata != root && !mayHave(metadata, "name") && !mayHave(metadata, "generateName"):
		missing = "metadata.name"
	default:
		return
	}
	at.warns(root.Content[0], "the document has no %s: every child needs apiVersion, kind and metadata.name", missing)
}

// bare reports documents that consist of one value, without literal YAML.
func (c *checker) bare(s *Skeleton) {
	for _, n := range s.Bare {
		last := n.Pipe.Cmds[len(n.Pipe.Cmds)-1].Args[0]
		if len(n.Pipe.Cmds) > 1 && funcs.Named(last).Is(syntax.WhiteSpace) {
			last = n.Pipe.Cmds[len(n.Pipe.Cmds)-2].Args[0]
		}
		if funcs.Named(last).Is(syntax.Encodes) {
			at := types.Place{Text: s.Text, Offset: int(n.Pos), Length: len(n.String()) - len("{{}}")}
			c.Fail(s.Always(int(n.Pos), int(n.Pos)+1), finding.NoObject, at, "a value cannot be a whole object: write apiVersion, kind and metadata.name in the template, and print the other fields below them")
		}
	}
}

// entryNode returns the key node of a non-null entry of a mapping, or nil.
func entryNode(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i+1].ShortTag() != "!!null" {
			return n.Content[i]
		}
	}
	return nil
}
