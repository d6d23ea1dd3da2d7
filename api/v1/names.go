package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "templater.dev", Version: "v1"}

// Resource is the GroupVersionResource of TemplateControllers.
var Resource = GroupVersion.WithResource("templatecontrollers")

// KindTemplateController is the kind of a TemplateController.
const KindTemplateController = "TemplateController"

// Labels and annotations of children and parents, and the finalizers.
const (
	// LabelController is the name of the TemplateController.
	LabelController = "templater.dev/controller"
	// LabelChild is the name of the child template in spec.children.
	LabelChild = "templater.dev/child"
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
	// the name of the TemplateController.
	AnnotationAdopt = "templater.dev/adopt"
	// FinalizerChildren blocks the deletion of a TemplateController until its children are deleted and its finalizer is removed from all
	// parents.
	FinalizerChildren = "templater.dev/children"
	// FinalizerParentPrefix is the prefix of the finalizer on parents; the name of the TemplateController follows.
	FinalizerParentPrefix = "finalize.templater.dev/"
	// AnnotationCleanupSincePrefix is the prefix of the annotation on a deleted parent that records when its cleanup was first attempted
	// (TIME/UID, API server time); the name of the TemplateController follows. Without it, finalize.timeout starts again.
	AnnotationCleanupSincePrefix = "cleanup-since.templater.dev/"
	// AnnotationSkipFinalize, if "true", skips the cleanup of a parent that is being deleted: the finalizer is removed immediately.
	AnnotationSkipFinalize = "templater.dev/skip-finalize"
	// AnnotationOrder is the level of a child in the dependency graph of spec.children; level 0 has no dependencies and no annotation.
	// It is only set with finalize.order Reverse.
	AnnotationOrder = "templater.dev/order"
	// FieldManagerPrefix is the prefix of the field manager; the name of the TemplateController follows.
	FieldManagerPrefix = "templater/"
)
