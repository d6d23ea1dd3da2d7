package v1

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "templater.dev", Version: "v1"}

// The GroupVersionResources of TemplateControllers and NamespacedTemplateControllers.
var (
	Resource           = GroupVersion.WithResource("templatecontrollers")
	NamespacedResource = GroupVersion.WithResource("namespacedtemplatecontrollers")
	// RevisionResource is the resource of TemplateRevisions.
	RevisionResource = GroupVersion.WithResource("templaterevisions")
)

// The kinds of this package. They have the same fields.
const (
	KindTemplateController           = "TemplateController"
	KindNamespacedTemplateController = "NamespacedTemplateController"
	KindTemplateRevision             = "TemplateRevision"
)

// Labels and annotations of children and parents, and the finalizers.
const (
	// LabelController is the name of the TemplateController.
	LabelController = "templater.dev/controller"
	// LabelNamespacedController is the name of the NamespacedTemplateController, on its children instead of LabelController.
	LabelNamespacedController = "templater.dev/namespaced-controller"
	// LabelChild is the name of the child template in spec.children.
	LabelChild = "templater.dev/child"
	// LabelControllerUID is the metadata.uid of the TemplateController, on its TemplateRevisions.
	LabelControllerUID = "templater.dev/controller-uid"
	// LabelRevision is the number of a TemplateRevision.
	LabelRevision = "templater.dev/revision"
	// LabelRevisionID is the ID of a TemplateRevision, as in status.updateRevision.
	LabelRevisionID = "templater.dev/revision-id"
	// LabelRolloutFrom is the ID of the revision that other parents have while a TemplateRevision is rolled out.
	LabelRolloutFrom = "templater.dev/rollout-from"
	// LabelParentUID is the metadata.uid of the parent.
	LabelParentUID = "templater.dev/parent-uid"
	// LabelManagedBy is the common label app.kubernetes.io/managed-by.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "templater"
	// AnnotationHash is a readable copy of the hash in AnnotationSeal: the hash of the rendered object as it was applied, without the
	// metadata that templater adds.
	AnnotationHash = "templater.dev/applied-hash"
	// AnnotationDepth is the number of templater parents in the object's ownership chain: 1 for a child, 2 for a child of a child.
	AnnotationDepth = "templater.dev/depth"
	// AnnotationParent is the parent of a child without an owner reference: NAME if its deletionPolicy is Orphan, NAMESPACE/NAME if its
	// scope is Cluster.
	AnnotationParent = "templater.dev/parent"
	// AnnotationDeletion is the deletionPolicy of a child with scope Cluster, if it is not Delete: such a child has no owner reference.
	AnnotationDeletion = "templater.dev/deletion"
	// AnnotationPrune is the prunePolicy of a child, if it is not Delete, so that it is known after its child template is removed.
	AnnotationPrune = "templater.dev/prune"
	// AnnotationSeal proves that templater created the object, and records its content hash and policies: see package seal.
	AnnotationSeal = "templater.dev/seal"
	// AnnotationAdopt on a CustomResourceDefinition lets a TemplateController with spec.crd manage it that did not create it. The value is
	// the name of the TemplateController. On an object of a child's name, it lets a child template with adoption: IfConsented adopt the
	// object. The value is then KIND/NAME/UID: kind and name of the TemplateController, and the UID of the parent.
	AnnotationAdopt = "templater.dev/adopt"
	// FinalizerChildren blocks the deletion of a TemplateController until its children are deleted and its finalizer is removed from all
	// parents.
	FinalizerChildren = "templater.dev/children"
	// FinalizerParentPrefix is the prefix of the finalizer on parents: see ParentFinalizer.
	FinalizerParentPrefix = "finalize.templater.dev/"
	// AnnotationCleanupSincePrefix is the prefix of the annotation on a deleted parent that records when its cleanup was first attempted
	// (TIME/UID, API server time): see CleanupSince. Without it, finalize.timeout starts again.
	AnnotationCleanupSincePrefix = "cleanup-since.templater.dev/"
	// AnnotationSkipFinalize, if "true", skips the cleanup of a parent that is being deleted: the finalizer is removed immediately.
	AnnotationSkipFinalize = "templater.dev/skip-finalize"
	// AnnotationSuspend, if "true", suspends a parent: nothing is created, changed or deleted for it until the annotation has another value.
	AnnotationSuspend = "templater.dev/suspend"
	// AnnotationReconcileAt reconciles a parent immediately when it is set to a new value, for example the time. It also ends backoff.
	AnnotationReconcileAt = "templater.dev/reconcile-at"
	// AnnotationOrder is the level of a child in the dependency graph of spec.children; level 0 has no dependencies and no annotation.
	// It is only set with finalize.order Reverse.
	AnnotationOrder = "templater.dev/order"
	// FieldManagerPrefix is the prefix of the field manager of a TemplateController, and NamespacedFieldManagerPrefix of a
	// NamespacedTemplateController: see FieldManager.
	FieldManagerPrefix           = "templater/"
	NamespacedFieldManagerPrefix = "templater-ns/"
)

// Key returns the key of a TemplateController: its name, or NAMESPACE/NAME for a NamespacedTemplateController. Keys are unique. Logs,
// messages and the state of the operator use them.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Key returns the key of the TemplateController: see the function Key.
func (tc *TemplateController) Key() string { return Key(tc.Namespace, tc.Name) }

// SplitKey returns the namespace and the name in a key.
func SplitKey(key string) (namespace, name string) {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return "", key
	}
	return namespace, name
}

// ResourceOf returns the resource of the TemplateController with a key.
func ResourceOf(key string) schema.GroupVersionResource {
	if Namespaced(key) {
		return NamespacedResource
	}
	return Resource
}

// Namespaced reports whether a key is that of a NamespacedTemplateController.
func Namespaced(key string) bool { return strings.Contains(key, "/") }

// KindOf returns the kind of the TemplateController with a key.
func KindOf(key string) string {
	if Namespaced(key) {
		return KindNamespacedTemplateController
	}
	return KindTemplateController
}

// Describe returns the kind and the key of the TemplateController with a key, for messages.
func Describe(key string) string { return KindOf(key) + " " + key }

// FieldManager returns the field manager of the TemplateController with a key. It has no namespace, because all objects of a
// NamespacedTemplateController are in its namespace.
func FieldManager(key string) string {
	if namespace, name := SplitKey(key); namespace != "" {
		return NamespacedFieldManagerPrefix + name
	}
	return FieldManagerPrefix + key
}

// KeyOfManager returns the key of the TemplateController with a field manager on an object in a namespace, or "" if it is none.
func KeyOfManager(manager, namespace string) string {
	name, namespaced := strings.CutPrefix(manager, NamespacedFieldManagerPrefix)
	if !namespaced {
		name, _ = strings.CutPrefix(manager, FieldManagerPrefix)
	}
	switch {
	case name == manager || strings.Contains(name, "/") || namespaced && namespace == "":
		return ""
	case namespaced:
		return Key(namespace, name)
	}
	return name
}

// ControllerLabel returns the label of the children of the TemplateController with a key.
func ControllerLabel(key string) (label, value string) {
	if namespace, name := SplitKey(key); namespace != "" {
		return LabelNamespacedController, name
	}
	return LabelController, key
}

// namespacedPrefix is prepended to the name of a NamespacedTemplateController in finalizers and annotations on its parents. The API server
// rejects TemplateControllers whose names start with it.
const namespacedPrefix = "ns."

// NamespacedRevisionPrefix is the prefix of the names of TemplateRevisions of NamespacedTemplateControllers, before NAMESPACE.NAME.
const NamespacedRevisionPrefix = namespacedPrefix

// ParentFinalizer returns the finalizer on the parents of the TemplateController with a key.
func ParentFinalizer(key string) string { return FinalizerParentPrefix + parentSuffix(key) }

// CleanupSince returns the annotation on deleted parents of the TemplateController with a key: see AnnotationCleanupSincePrefix.
func CleanupSince(key string) string { return AnnotationCleanupSincePrefix + parentSuffix(key) }

func parentSuffix(key string) string {
	if namespace, name := SplitKey(key); namespace != "" {
		return namespacedPrefix + name
	}
	return key
}
