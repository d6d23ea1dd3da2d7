package typed

import (
	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/render/document"
)

// This file has the rules about what documents must have, and may not have: see internal/render/document and
// internal/reconcile/child/shape.go.

// document notes what keeps a document from being an object, as far as its text shows it.
func (c *checker) document(s *skeleton, d yamlDocument) {
	if d.root.Kind != yaml.MappingNode || len(d.root.Content) == 0 {
		return
	}
	at := shape{c: c, s: s, starts: s.starts(), first: d.first}
	for _, key := range []string{"apiVersion", "kind"} {
		v := entryOf(d.root, key)
		if v.Kind != yaml.ScalarNode {
			continue
		}
		if place := at.place(v); printed(v.Value) && anyIn(s.prints, place.offset, place.end()) {
			c.warnf(finding.NoObject, place, "%s must stand in the template as it is, so that rights are known beforehand; use if to choose between several", key)
		}
	}
	if v := entryNode(d.root, "status"); v != nil {
		c.warnf(finding.NoObject, at.place(v), "status is not for a template to set: remove it")
	}
	metadata := entryOf(d.root, "metadata")
	for _, owned := range document.NotForTemplates {
		if v := entryNode(metadata, owned.Field); v != nil {
			c.warnf(finding.NoObject, at.place(v), "metadata.%s may not be set: %s", owned.Field, owned.Advice)
		}
	}
	at.lacks(d.root, metadata)
}

// lacks notes what a document needs and does not have.
func (at *shape) lacks(root, metadata *yaml.Node) {
	if at.s.adds || at.s.others {
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
	at.c.warnf(finding.NoObject, at.place(root.Content[0]), "the document has no %s: every child needs apiVersion, kind and metadata.name", missing)
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
