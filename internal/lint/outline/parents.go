package outline

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/render/finding"
)

// This file has the rule about children that are also parents. It reports nothing if that depends on data.

// parent reports a document that is always rendered, and whose object the TemplateController watches as a parent. to is its end.
func (at *docCheck) parent(d Document, id identity, to int) {
	watch := at.c.Spec.Watch
	gv, err := gvk.ParseGroupVersion(watch.APIVersion)
	if err != nil || gv.Group != id.group || watch.Kind != id.kind || watch.FieldSelector != "" || watch.Filter != "" || !at.watchedIn(id.namespace) || !at.selected(d.Root, to) {
		return
	}
	at.c.Warn(finding.ChildIsParent, at.place(entryOf(d.Root, "kind")), "this %s is also a parent of the TemplateController, so it gets children of its own: set watch.labelSelector to a label that the child does not have", id.kind)
}

// watchedIn reports whether parents are watched in the namespace that the child template contains.
func (at *docCheck) watchedIn(namespace string) bool {
	watch := at.c.Spec.Watch
	if namespace == "" || strings.Trim(namespace, "{}- ") == ".metadata.namespace" { // namespace of the parent
		return true
	}
	return watch.NamespaceSelector == nil && (len(watch.Namespaces) == 0 || slices.Contains(watch.Namespaces, namespace))
}

// selected reports whether the labels of an object certainly match the selector of parents.
func (at *docCheck) selected(root *yaml.Node, to int) bool {
	if at.c.Spec.Watch.LabelSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(at.c.Spec.Watch.LabelSelector)
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
