package object

import (
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
)

// ParentAddress is what the annotation AnnotationParent of a child of scope Cluster holds.
func ParentAddress(namespace, name string) string { return namespace + "/" + name }

// ParentName returns the name of the parent that a child was made for, "" when the child does not say, and its namespace,
// which is the child's own unless the child says another. The owner reference tells, or, where there is none, an annotation. Both are
// parts of the object's text.
func (o *Object) ParentName() (namespace, name string) {
	if owner, ok := o.Controller(); ok {
		return o.Namespace(), owner.Name
	}
	text := o.Annotation(v1.AnnotationParent)
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return namespace, name
	}
	return o.Namespace(), text
}

// CrossScope reports whether a child is of scope Cluster, as it says itself: no owner reference binds it to its parent,
// though it may go with it.
func (o *Object) CrossScope() bool {
	if _, owned := o.Controller(); owned {
		return false
	}
	return strings.Contains(o.Annotation(v1.AnnotationParent), "/")
}
