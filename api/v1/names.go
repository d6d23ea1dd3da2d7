package v1

import "k8s.io/apimachinery/pkg/runtime/schema"

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "templater.dev", Version: "v1"}

// Resource is the resource that serves TemplateControllers.
var Resource = GroupVersion.WithResource("templatecontrollers")

// KindTemplateController is the kind of a TemplateController.
const KindTemplateController = "TemplateController"

// Labels and annotations of children and parents, and the finalizers.
const (
	// LabelController holds the TemplateController's name.
	LabelController = "templater.dev/controller"
	// LabelChild holds the name of the child template in spec.children.
	LabelChild = "templater.dev/child"
	// LabelParentUID holds the parent's metadata.uid.
	LabelParentUID = "templater.dev/parent-uid"
	// LabelManagedBy is the common label app.kubernetes.io/managed-by.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "templater"
	// AnnotationHash repeats the hash in AnnotationSeal for readers. It is the hash of the rendered object as it was applied,
	// without what templater adds.
	AnnotationHash = "templater.dev/applied-hash"
	// AnnotationDepth holds how many templater parents an object descends
	// from: 1 for a child, 2 for a child's child.
	AnnotationDepth = "templater.dev/depth"
	// AnnotationParent holds the parent's name on a child that has no owner
	// reference: NAME where its deletionPolicy is Orphan, NAMESPACE/NAME where its
	// scope is Cluster.
	AnnotationParent = "templater.dev/parent"
	// AnnotationDeletion holds the deletionPolicy of a child whose scope is
	// Cluster, if it is not Delete: such a child has no owner reference.
	AnnotationDeletion = "templater.dev/deletion"
	// AnnotationPrune holds the child's prunePolicy when it is not Delete, so
	// that it is known after the entry in spec.children is removed.
	AnnotationPrune = "templater.dev/prune"
	// AnnotationSeal proves that templater made the object, from which content and under which policies: see package seal.
	AnnotationSeal = "templater.dev/seal"
	// FinalizerChildren blocks the deletion of a TemplateController until its children are deleted, and no parent has its finalizer.
	FinalizerChildren = "templater.dev/children"
	// FinalizerParentPrefix and a TemplateController's name make the finalizer of its parents.
	FinalizerParentPrefix = "finalize.templater.dev/"
	// AnnotationCleanupSincePrefix and a TemplateController's name make an annotation of a deleted parent. Its value TIME/UID records when
	// the cleanup was first attempted, by the clock of the API server. Without it, finalize.timeout starts again.
	AnnotationCleanupSincePrefix = "cleanup-since.templater.dev/"
	// AnnotationSkipFinalize releases a parent that is being deleted at once, without cleanup, if it is "true".
	AnnotationSkipFinalize = "templater.dev/skip-finalize"
	// AnnotationOrder holds the level of a child in the dependency order of spec.children: 0 depends on nothing. It is set if the
	// children of a deleted parent are deleted in order, except at level 0.
	AnnotationOrder = "templater.dev/order"
	// FieldManagerPrefix and a TemplateController's name make the field manager.
	FieldManagerPrefix = "templater/"
)
