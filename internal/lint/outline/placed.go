package outline

import (
	"go.yaml.in/yaml/v4"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has the rule about where children can be: see internal/reconcile/child/place.go.

// placed notes a child whose kind cannot be a child of the parents, as far as kinds and text show it.
func (at *docCheck) placed(root *yaml.Node, of *schema.Type) {
	parents, known := at.c.scopeOf(at.c.Spec.Watch.APIVersion, at.c.Spec.Watch.Kind)
	children, alsoKnown := of.Namespaced()
	if !known || !alsoKnown {
		return
	}
	switch {
	case parents && !children && at.c.scope(at.s.Text.Name) != v1.ScopeCluster:
		at.c.Warn(finding.ChildPlace, at.place(entryOf(root, "kind")), "a %s is cluster-scoped and cannot belong to the namespaced %s: set scope: Cluster in this entry, or watch a cluster-scoped kind", at.object, at.c.Spec.Watch.Kind)
	case !parents && children && !at.s.Adds() && !mayHave(entryOf(root, "metadata"), "namespace"):
		at.c.Warn(finding.ChildPlace, at.place(entryOf(root, "kind")), "a %s is namespaced and its parent is not: set metadata.namespace", at.object)
	}
}

// scopeOf reports whether a kind has namespaces, and whether that is known.
func (c *checker) scopeOf(apiVersion, kind string) (namespaced, known bool) {
	return c.lookup(apiVersion, kind).Namespaced()
}

// lookup returns the type of the objects of a kind, or nil if it is not known.
func (c *checker) lookup(apiVersion, kind string) *schema.Type {
	gv, err := gvk.ParseGroupVersion(apiVersion)
	if err != nil || c.Known == nil {
		return nil
	}
	t, _ := c.Known.Lookup(gv.WithKind(kind))
	return t
}

// scope returns that of the entry whose template has that name.
func (c *checker) scope(template string) v1.ChildScope {
	entries := c.Spec.Children
	if c.Spec.Finalize != nil {
		entries = append(entries[:len(entries):len(entries)], c.Spec.Finalize.Children...)
	}
	for i := range entries {
		if syntax.ChildName(entries[i].Name) == template {
			return entries[i].Scope
		}
	}
	return ""
}

// mayHave reports whether there may be a key in what a node becomes.
func mayHave(n *yaml.Node, key string) bool {
	if n.Kind != yaml.MappingNode {
		return true
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if k := n.Content[i]; k.Value == key || k.Kind != yaml.ScalarNode || PrintedIn(k.Value) || k.Tag == "!!merge" {
			return true
		}
	}
	return false
}
