package plan

import (
	"slices"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// finalizerOrphan is the finalizer that the API server adds to an object that is deleted without its dependents. The garbage collector removes
// it once it has removed the owner references of the dependents, and waits for nothing else.
const finalizerOrphan = "orphan"

// CascadesOrphan reports whether an object is being deleted with --cascade=orphan, which keeps its dependents.
func CascadesOrphan(o *object.Object) bool {
	return o.Deleting() && o.HasFinalizer(finalizerOrphan)
}

// SkipsFinalize reports whether an annotation requests to delete an object without finalization.
func SkipsFinalize(o *object.Object) bool { return o.Annotation(v1.AnnotationSkipFinalize) == "true" }

// IsSuspended reports whether an annotation suspends a parent. Skipping its finalization takes precedence.
func IsSuspended(o *object.Object) bool {
	return o.Annotation(v1.AnnotationSuspend) == "true" && (!o.Deleting() || !SkipsFinalize(o))
}

// IsFinal reports whether a child is one of spec.finalize.children.
func IsFinal(s *v1.TemplateControllerSpec, l *child.Live) bool {
	return child.Entries(spec.Finals(s)).Have(l.Entry)
}

// Finals returns the children that belong to spec.finalize.children.
func Finals(s *v1.TemplateControllerSpec, children []*child.Live) []*child.Live {
	return slices.DeleteFunc(slices.Clone(children), func(l *child.Live) bool { return !IsFinal(s, l) })
}

// DeletedBeforeParent reports whether a child is deleted before its parent. Objects of spec.finalize.children are deleted after the parent,
// unless they have no owner reference. Without spec.finalize, objects with an owner reference are left to the garbage collector.
func DeletedBeforeParent(s *v1.TemplateControllerSpec, l *child.Live) bool {
	return l.Collectable() && (l.Object.CrossScope() || s.Finalize != nil && !IsFinal(s, l))
}

// DeletesInOrder reports whether children are deleted level by level.
func DeletesInOrder(s *v1.TemplateControllerSpec) bool {
	return s.Finalize != nil && s.Finalize.Order == v1.FinalizeReverse
}

// DeletedFirst returns the children to delete next. They all have the same level, and may already be terminating. If there are none, the
// finalizer of the parent may be removed.
func DeletedFirst(s *v1.TemplateControllerSpec, children []*child.Live) []*child.Live {
	var first []*child.Live
	for _, l := range children {
		switch {
		case !DeletedBeforeParent(s, l):
		case len(first) == 0, level(s, l) == level(s, first[0]):
			first = append(first, l)
		case level(s, l) > level(s, first[0]):
			first = append(first[:0], l)
		}
	}
	return first
}

// level is the deletion level of the child: the highest level is deleted first, and objects of spec.finalize.children last.
func level(s *v1.TemplateControllerSpec, l *child.Live) int {
	switch {
	case IsFinal(s, l):
		return -1
	case !DeletesInOrder(s):
		return 0
	}
	return l.Level()
}
