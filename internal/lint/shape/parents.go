package shape

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/render/finding"
)

// This file has the rule about children that are parents, too. It is silent wherever data decide whether they are.

// parent notes a document that is always rendered, and whose object the TemplateController watches as a parent. to is where it ends.
func (at *shape) parent(d outline.Document, id identity, to int) {
	watch := at.c.spec.Watch
	gv, err := gvk.ParseGroupVersion(watch.APIVersion)
	if err != nil || gv.Group != id.group || watch.Kind != id.kind || watch.FieldSelector != "" || watch.Filter != "" || !at.watchedIn(id.namespace) || !at.selected(d.Root, to) {
		return
	}
	at.c.Warn(finding.ChildIsParent, at.place(entryOf(d.Root, "kind")), "", "this %s is also a parent of the TemplateController, so it gets children of its own: give watch.labelSelector a label that the child does not have", id.kind)
}

// watchedIn reports whether parents are watched in the namespace of a child, as its template writes it.
func (at *shape) watchedIn(namespace string) bool {
	watch := at.c.spec.Watch
	if namespace == "" || strings.Trim(namespace, "{}- ") == ".metadata.namespace" { // that of the parent
		return true
	}
	return watch.NamespaceSelector == nil && (len(watch.Namespaces) == 0 || slices.Contains(watch.Namespaces, namespace))
}

// selected reports whether the labels of an object certainly match those of parents.
func (at *shape) selected(root *yaml.Node, to int) bool {
	if at.c.spec.Watch.LabelSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(at.c.spec.Watch.LabelSelector)
	if err != nil {
		return false
	}
	from, end := at.metadata(root, to)
	added := len(at.s.AddsIn(from, end)) > 0
	requirements, selectable := selector.Requirements()
	return selectable && !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		set, known := at.label(entryOf(root, "metadata"), r.Key())
		return !known || added && len(set) == 0 || !r.Matches(set)
	})
}

// ownLabels begins the labels that templater sets.
const ownLabels = "templater.dev/"

// label returns the label of that key that the text gives an object, if it gives one, and whether that is known.
func (at *shape) label(metadata *yaml.Node, key string) (set labels.Set, known bool) {
	if strings.HasPrefix(key, ownLabels) {
		return nil, false
	}
	own, text := entryOf(metadata, "labels"), ""
	switch {
	case own == metadata:
		known = !mayHave(metadata, "labels")
	case own.Kind == yaml.MappingNode && !outline.PrintedIn(entryOf(own, key).Value):
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
