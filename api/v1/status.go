package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TemplateControllerStatus is what templater made of the spec.
type TemplateControllerStatus struct {
	// The metadata.generation that the conditions describe, and that
	// parents.updated counts. Always there.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The spec.className of the installation that serves this TemplateController.
	// Absent while none does: before one takes it up, and after one has handed it
	// over.
	// +optional
	ClassName *string `json:"className,omitempty"`

	// Always there: Accepted, the spec makes sense; Linted, nothing in it looks
	// like a mistake, which stops nothing; Watching, the kinds exist, may be
	// listed, and are fully read; StatusWritable, parents can hold the status and
	// the ready condition; Ready, accepted and watching, and neither suspended nor
	// being deleted nor handed over; ParentsReady, no parent has failed, and all
	// are reconciled with the current spec. Ready says nothing about the parents.
	// Three are there only while they are False: EventsWritable, Events about some
	// parents cannot be written; FilterEvaluated, spec.watch.filter cannot be
	// evaluated for some objects; LogsReadable, some logs of related Pods cannot
	// be read. The meaning of Ready and of ParentsReady is promised, and so are
	// the reasons under "Promised reasons" on the troubleshooting page; the rest
	// may change.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// How the parents fare. Always there. Follows a change after 2 seconds. After
	// templater has started, the earlier counts are kept until all parents are
	// reconciled, or for 30 seconds; updated is kept only if the spec is the same.
	// +optional
	Parents ParentCounts `json:"parents"`

	// Some of the parents that count as failed, at most 5. One that is named stays
	// until it has recovered. Absent when none has failed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Failing []FailingParent `json:"failing,omitempty"`

	// How the children fare. Always there. Follows a change after 2 seconds.
	// +optional
	Children ChildCounts `json:"children"`

	// Every kind that this TemplateController may have children of, so that
	// templater loses track of none when a template is edited. A kind is added
	// once it can be read, before its first child is created. It is removed when
	// no parent wants it and no object of it is left. Absent when there is none.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=kind
	ChildKinds []ChildKind `json:"childKinds,omitempty"`

	// The namespaces that children may be in, so that templater loses track of
	// none when watch.namespaces is edited. Absent unless serviceAccountRef and
	// watch.namespaces limit where children are.
	// +optional
	// +listType=set
	ChildNamespaces []string `json:"childNamespaces,omitempty"`

	// Children that were made before this time all have a seal by now. Of
	// objects without one, none counts as a child any more. Absent where
	// there were no such children.
	// +optional
	SealedSince *metav1.Time `json:"sealedSince,omitempty"`

	// Whether parents may have the finalizer of this TemplateController. While
	// true, it is removed from all of them before this TemplateController is
	// deleted. Always there.
	// +optional
	Finalizes bool `json:"finalizes"`
}

// ParentCounts counts the parents of a TemplateController.
type ParentCounts struct {
	// All parents: the objects that match spec.watch. Always there. It is the sum
	// of ready, failed, waiting and suspended, plus the parents that have not been
	// reconciled yet.
	// +optional
	Total int64 `json:"total"`
	// Those whose children are all as their templates say, and ready. Always
	// there.
	// +optional
	Ready int64 `json:"ready"`
	// Those where an error keeps templater from doing its work, or a child has
	// failed. Always there.
	// +optional
	Failed int64 `json:"failed"`
	// Those that are neither ready nor failed: they wait for children or other
	// objects, or are being deleted. Always there.
	// +optional
	Waiting int64 `json:"waiting"`
	// Those that were reconciled with the spec of observedGeneration, with any
	// result. A change of the spec has reached all parents when updated and
	// suspended add up to total. Always there.
	// +optional
	Updated int64 `json:"updated"`
	// Those that are not reconciled because spec.suspend is true. They count
	// neither as ready nor as failed, waiting or updated. Always there.
	// +optional
	Suspended int64 `json:"suspended"`
}

// FailingParent is a parent that counts as failed.
type FailingParent struct {
	// Namespace of the parent. Absent for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the parent. Required.
	Name string `json:"name"`
	// Reason as in the ready condition of the parent and its Events, for example
	// TemplateError. Required.
	Reason string `json:"reason"`
}

// ChildCounts counts the children of a TemplateController.
type ChildCounts struct {
	// All children that exist. Always there.
	// +optional
	Total int64 `json:"total"`
	// Those that are ready. Always there.
	// +optional
	Ready int64 `json:"ready"`
}

// ChildKind is a kind of child objects.
type ChildKind struct {
	// API group. Required; the default is empty, for the core group.
	// +kubebuilder:default=""
	Group string `json:"group"`
	// Version that was used last. Required.
	Version string `json:"version"`
	// Kind. Required.
	Kind string `json:"kind"`
	// Whether a CustomResourceDefinition defines the kind, so that no object of it
	// is left when the cluster has the kind no more. Absent means false: an API
	// server of its own keeps the objects while the cluster does not know it.
	// +optional
	Custom bool `json:"custom,omitempty"`
}

// Condition types of a TemplateController.
const (
	ConditionAccepted       = "Accepted"
	ConditionLinted         = "Linted"
	ConditionWatching       = "Watching"
	ConditionStatusWritable = "StatusWritable"
	ConditionEventsWritable = "EventsWritable" // there while it is False
	ConditionLogsReadable   = "LogsReadable"   // there while it is False
	ConditionParentsReady   = "ParentsReady"
	ConditionReady          = "Ready"
	// ConditionFilterEvaluated is there while it is False: the filter cannot be evaluated for some objects.
	ConditionFilterEvaluated = "FilterEvaluated"
)

// Reasons of the conditions of a TemplateController.
const (
	ReasonAccepted            = "Accepted"
	ReasonInvalidTemplate     = "InvalidTemplate"
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonNoStatusSubresource = "NoStatusSubresource"
	ReasonBuiltInKind         = "BuiltInKind"
	// ReasonServiceAccountRequired says that templater runs with --require-service-account.
	ReasonServiceAccountRequired = "ServiceAccountRequired"
	// ReasonTooManyWatches says that the TemplateControllers of a tenant need more watches than they may have.
	ReasonTooManyWatches = "TooManyWatches"
	// ReasonInsufficientMemory says that compiled specs take all the memory that they may have.
	ReasonInsufficientMemory = "InsufficientMemory"

	ReasonNoWarnings = "NoWarnings"
	ReasonWarnings   = "Warnings"

	ReasonWatching     = "Watching"
	ReasonKindNotFound = "KindNotFound"
	ReasonForbidden    = "Forbidden"
	ReasonSyncing      = "Syncing"
	ReasonListFailed   = "ListFailed"
	ReasonNotAccepted  = "NotAccepted"

	ReasonStatusWritable = "StatusWritable"
	ReasonNoConditions   = "NoConditions"
	ReasonConditionOwned = "ConditionOwned"
	ReasonFilterFailed   = "FilterFailed"
	ReasonFieldOwned     = "FieldOwned"

	ReasonParentsReady  = "ParentsReady"
	ReasonParentsFailed = "ParentsFailed"

	ReasonTooManyLogs      = "TooManyLogs"
	ReasonLogRequestFailed = "LogRequestFailed"

	ReasonReady      = "Ready"
	ReasonSuspended  = "Suspended"
	ReasonHandedOver = "HandedOver"
	// ReasonDeleting says that the children of a TemplateController that is being deleted go first.
	ReasonDeleting = "Deleting"
)

// Reasons of the ready condition that templater writes into a parent, and of
// the Events on it.
const (
	ReasonProgressing        = "Progressing"
	ReasonWaiting            = "Waiting"
	ReasonOutdated           = "Outdated"
	ReasonTemplateError      = "TemplateError"
	ReasonTemplateFailed     = "TemplateFailed"
	ReasonInvalidChild       = "InvalidChild"
	ReasonChildConflict      = "ChildConflict"
	ReasonChildRejected      = "ChildRejected"
	ReasonChildForbidden     = "ChildForbidden"
	ReasonChildKindNotFound  = "ChildKindNotFound"
	ReasonNamespaceNotFound  = "NamespaceNotFound"
	ReasonNamespaceEnding    = "NamespaceTerminating"
	ReasonChildRequestFailed = "ChildRequestFailed"
	ReasonRelatedUnreadable  = "RelatedUnreadable"
	ReasonChildFailing       = "ChildFailing"
	ReasonStatusRejected     = "StatusRejected"
	ReasonLeaving            = "Leaving"
	// ReasonTemplateControllerNotAccepted means that a parent is not reconciled because its TemplateController is not accepted.
	ReasonTemplateControllerNotAccepted = "TemplateControllerNotAccepted"
	// ReasonTemplateControllerDeleted says that a parent is not reconciled any more, because its TemplateController is deleted.
	ReasonTemplateControllerDeleted = "TemplateControllerDeleted"
	// ReasonFinalizing says what a parent that is being deleted waits for.
	ReasonFinalizing = "Finalizing"
	// ReasonFinalizeTimeout is the reason of an Event: the cleanup took longer than spec.finalize.timeout, and the parent was released.
	ReasonFinalizeTimeout = "FinalizeTimeout"
	// ReasonFinalizerRejected says that the finalizer of a parent cannot be set, or removed.
	ReasonFinalizerRejected = "FinalizerRejected"
	ReasonLoopDetected      = "LoopDetected"
	// ReasonSuccessfulDelete is the reason of an Event that names deleted children.
	ReasonSuccessfulDelete = "SuccessfulDelete"
	// ReasonDriftCorrected is the reason of an Event: templater corrected fields of children that another client changed.
	ReasonDriftCorrected = "DriftCorrected"
	ReasonInternalError  = "InternalError"
)
