package memserver

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Applied returns the object after a server-side apply with force. It sets the fields of content. It removes fields that the
// manager owned but no longer applies, unless another manager owns them. Other managers lose ownership of the fields whose values
// change.
func (l Lists) Applied(there *unstructured.Unstructured, content map[string]any, manager, subresource string) *unstructured.Unstructured {
	next, set := there.DeepCopy(), l.Held(content, subresource)
	before, others := Holdings(there, manager, subresource)
	dropped := without(before, set)
	for _, other := range others {
		dropped = without(dropped, other)
	}
	l.drop(next.Object, dropped)
	changed := l.Differing(there.Object, content, set)
	l.join(next.Object, content)
	Deprive(next, changed)
	Own(next, manager, subresource, set)
	return next
}

// owned returns the sorted paths of the fields that an apply would change and that other managers own.
func (l Lists) owned(there *unstructured.Unstructured, content map[string]any, manager, subresource string) []string {
	changed := l.Differing(there.Object, content, l.Held(content, subresource))
	_, others := Holdings(there, manager, subresource)
	paths := map[string]bool{}
	for _, other := range others {
		eachLeaf("", without(changed, without(changed, other)), func(path string) { paths[path] = true })
	}
	return slices.Sorted(maps.Keys(paths))
}
