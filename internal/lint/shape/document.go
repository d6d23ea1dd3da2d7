package shape

import (
	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/render/document"
)

// This file has the rules about what documents must have, and may not have: see internal/render/document and
// internal/reconcile/child/shape.go.

// document notes what keeps a document from being an object, as far as its text shows it.
func (c *checker) document(s *outline.Skeleton, d outline.Document) {
	if d.Root.Kind != yaml.MappingNode || len(d.Root.Content) == 0 {
		return
	}
	at := shape{c: c, s: s, starts: s.Starts(), first: d.First}
	for _, key := range []string{"apiVersion", "kind"} {
		v := entryOf(d.Root, key)
		if v.Kind != yaml.ScalarNode {
			continue
		}
		if place := at.place(v); outline.PrintedIn(v.Value) && s.PrintsIn(place.Offset, place.end()) {
			c.Warn(finding.NoObject, place, "", "%s must stand in the template as it is, so that rights are known beforehand; use if to choose between several", key)
		}
	}
	if v := entryNode(d.Root, "status"); v != nil {
		c.Warn(finding.NoObject, at.place(v), "", "status is not for a template to set: remove it")
	}
	metadata := entryOf(d.Root, "metadata")
	for _, owned := range document.NotForTemplates {
		if v := entryNode(metadata, owned.Field); v != nil {
			c.Warn(finding.NoObject, at.place(v), "", "metadata.%s may not be set: %s", owned.Field, owned.Advice)
		}
	}
	at.lacks(d.Root, metadata)
}

// lacks notes what a document needs and does not have.
func (at *shape) lacks(root, metadata *yaml.Node) {
	if at.s.Adds() || at.s.Others {
		return // it may come from what is printed
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
	at.c.Warn(finding.NoObject, at.place(root.Content[0]), "", "the document has no %s: every child needs apiVersion, kind and metadata.name", missing)
}

// entryNode returns the key of an entry of a mapping that is not null, or nil if there is none.
func entryNode(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i+1].ShortTag() != "!!null" {
			return n.Content[i]
		}
	}
	return nil
}
