package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// ParentIndex is where a Cache files the children that the controller has made
// for the parent with that UID.
func ParentIndex(controller string, parent types.UID) string {
	return controller + "/" + string(parent)
}

// NameIndex is where a Cache files the children that the controller has made for a
// parent of that name, whatever its UID. The namespace is empty for a
// cluster-scoped parent and for children without one.
func NameIndex(controller string, parent types.NamespacedName) string {
	return controller + "//" + parent.Name
}

// KindIndex is where a Cache files the definition of a kind.
func KindIndex(kind schema.GroupKind) string { return kind.String() }

// ParentName returns the name of the parent that a child was made for, or ""
// when the child does not say. Its owner reference tells, or, where it has
// none because it is to outlive its parent, an annotation.
func ParentName(child *unstructured.Unstructured) string {
	for _, ref := range child.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			return ref.Name
		}
	}
	return child.GetAnnotations()[v1.AnnotationParent]
}

// index files names under values. It is guarded by its Cache.
type index struct {
	values func(*unstructured.Unstructured) []string
	filed  map[string]map[types.NamespacedName]struct{}
}

func newIndex(role Role) index {
	x := index{filed: map[string]map[types.NamespacedName]struct{}{}, values: func(*unstructured.Unstructured) []string { return nil }}
	switch role {
	case Child:
		x.values = childValues
	case Definition:
		x.values = definitionValues
	case Parent, Namespace, Controller:
	}
	return x
}

func (x index) names(value string) map[types.NamespacedName]struct{} { return x.filed[value] }

func (x index) add(name types.NamespacedName, o *unstructured.Unstructured) {
	for _, v := range x.values(o) {
		if x.filed[v] == nil {
			x.filed[v] = map[types.NamespacedName]struct{}{}
		}
		x.filed[v][name] = struct{}{}
	}
}

func (x index) remove(name types.NamespacedName, o *unstructured.Unstructured) {
	for _, v := range x.values(o) {
		delete(x.filed[v], name)
		if len(x.filed[v]) == 0 {
			delete(x.filed, v)
		}
	}
}

func childValues(o *unstructured.Unstructured) []string {
	l := o.GetLabels()
	controller := l[v1.LabelController]
	if controller == "" {
		return nil
	}
	return []string{
		ParentIndex(controller, types.UID(l[v1.LabelParentUID])),
		NameIndex(controller, types.NamespacedName{Name: ParentName(o)}),
	}
}

func definitionValues(o *unstructured.Unstructured) []string {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	return []string{KindIndex(schema.GroupKind{Group: group, Kind: kind})}
}
