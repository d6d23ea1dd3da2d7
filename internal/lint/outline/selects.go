package outline

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file has the rules about the output of select templates: see internal/reconcile/related.

var (
	keysOfSelect   = []string{"name", "namespace", "allNamespaces", "labelSelector"}
	keysOfSelector = []string{"matchLabels", "matchExpressions"}
)

// selects checks the documents of select templates.
func (c *checker) selects() {
	for i, u := range c.Units.Selects {
		if u == nil {
			continue
		}
		s := c.Skeletons.Of(u)
		for _, d := range s.Documents {
			at := c.in(s, d)
			switch d.Root.Kind { //nolint:exhaustive // anything else is not a mapping
			case yaml.MappingNode:
				at.selects(&c.Spec.Related[i], d.Root)
			case yaml.SequenceNode:
				for _, item := range d.Root.Content {
					at.selects(&c.Spec.Related[i], item)
				}
			}
		}
	}
}

// selects checks one mapping.
func (at *docCheck) selects(entry *v1.Related, mapping *yaml.Node) {
	if mapping.Kind != yaml.MappingNode || !at.c.Step() {
		return
	}
	at.homeless(entry, mapping)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case !writtenOut(key):
		case slices.Contains(keysOfSelector, key.Value):
			at.c.Warn(finding.SelectKey, at.place(key), "a select has no key %s: put it below labelSelector", key.Value)
		case !slices.Contains(keysOfSelect, key.Value):
			at.misnamed(key, "a select", keysOfSelect, "write "+strings.Join(keysOfSelect, ", "))
		case key.Value == "labelSelector":
			at.selector(value)
		case key.Value == "namespace":
			at.foreign(entry, key, value)
		}
	}
}

// homeless reports a mapping without a namespace for cluster-scoped parents.
func (at *docCheck) homeless(entry *v1.Related, mapping *yaml.Node) {
	parents, known := at.c.scopeOf(at.c.Spec.Watch.APIVersion, at.c.Spec.Watch.Kind)
	related, alsoKnown := at.c.scopeOf(entry.APIVersion, entry.Kind)
	if known && alsoKnown && !parents && related && !at.s.Adds() && len(mapping.Content) > 0 && !mayHave(mapping, "namespace") && !mayHave(mapping, "allNamespaces") {
		at.c.Warn(finding.SelectKey, at.place(mapping.Content[0]), "%s has no namespace: set namespace, or allNamespaces: true", at.c.Spec.Watch.Kind)
	}
}

// selector checks a labelSelector.
func (at *docCheck) selector(n *yaml.Node) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; writtenOut(key) && !slices.Contains(keysOfSelector, key.Value) {
			at.misnamed(key, "labelSelector", keysOfSelector, "put labels below matchLabels")
		}
	}
}

// misnamed reports an unknown key.
func (at *docCheck) misnamed(key *yaml.Node, of string, known []string, otherwise string) {
	nearest := at.c.Nearest(key.Value, slices.Clone(known))
	hint := cmp.Or(syntax.DidYouMean(nearest), "; "+otherwise)
	at.c.Warn(finding.SelectKey, at.place(key), "%s has no key %s%s", of, key.Value, hint).Replacement = nearest
}

// foreign reports a namespace that is not watched.
func (at *docCheck) foreign(entry *v1.Related, key, value *yaml.Node) {
	related, known := at.c.scopeOf(entry.APIVersion, entry.Kind)
	switch {
	case known && !related:
		at.c.Warn(finding.SelectKey, at.place(key), "%s is cluster-scoped: remove namespace", entry.Kind)
	case at.c.Namespaced && writtenOut(value) && value.Value != "" && !slices.Contains(entry.Namespaces, value.Value):
		at.c.Warn(finding.SelectKey, at.place(value), "a NamespacedTemplateController reads related objects only in its own namespace: remove namespace, or %s", spec.AskForController)
	case writtenOut(value) && value.Value != "" && len(entry.Namespaces) > 0 && !slices.Contains(entry.Namespaces, value.Value):
		at.c.Warn(finding.SelectKey, at.place(value), "namespace %s is not listed in namespaces of this spec.related entry, so nothing is watched there: add it, or remove namespaces", value.Value)
	}
}

// writtenOut reports whether a node is literal text.
func writtenOut(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && !PrintedIn(n.Value) && n.Tag != "!!merge"
}
