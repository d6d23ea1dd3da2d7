package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TemplateControllerStatus is the observed state of a TemplateController.
type TemplateControllerStatus struct {
	// The metadata.generation that the conditions and parents.updated refer to.
	// Always set.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The spec.className of the installation that serves this TemplateController.
	// Absent if no installation serves it: before it is claimed, and after it is
	// released.
	// +optional
	ClassName *string `json:"className,omitempty"`

	// Always set: Accepted, the spec is valid; Linted, there are no lint warnings,
	// which never block anything; Watching, the kinds exist, can be listed, and
	// are synced; StatusWritable, the status and the ready condition can be
	// written to parents; Ready, accepted and watching, and neither suspended, nor
	// being deleted, nor being handed over to another installation; ParentsReady,
	// each parent is ready or suspended, and reconciled with the current spec.
	// Ready does not reflect the state of the parents. Present only with crd:
	// CRDReady, the CustomResourceDefinition exists and matches it; Ready is False
	// while it is False. Present only while False:
	// EventsWritable, Events about some parents cannot be written;
	// FilterEvaluated, spec.watch.filter cannot be evaluated for some objects;
	// LogsReadable, some logs of related Pods cannot be read. The meaning of Ready
	// and ParentsReady is stable, and so are the reasons under "Stable reasons" on
	// the page about condition reasons. Other reasons, and all messages, can
	// change.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// The revision of the parents that are not updated to updateRevision yet.
	// Absent until a spec has been accepted.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// The newest revision that was accepted. It differs from currentRevision while
	// it is being rolled out, or waits for approval. Absent until a spec has been
	// accepted.
	// +optional
	UpdateRevision string `json:"updateRevision,omitempty"`

	// What updateRevision would change. Absent unless it waits for approval.
	// +optional
	Preview *RolloutPreview `json:"preview,omitempty"`

	// Counts of the parents. Always set. Updated 2 seconds after a change. After a
	// restart of templater, the earlier counts are kept until all parents are
	// reconciled, or for 30 seconds; updated is kept only if the spec is the same.
	// +optional
	Parents ParentCounts `json:"parents"`

	// Some of the failed parents, at most 5. A parent stays in the list until it
	// has recovered. Absent if none has failed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Failing []FailingParent `json:"failing,omitempty"`

	// Counts of the children. Always set. Updated 2 seconds after a change.
	// +optional
	Children ChildCounts `json:"children"`

	// Kinds of the children of this TemplateController, recorded so that existing
	// children are still found after a template is edited. A kind is added once it
	// can be read, before its first child is created. It is removed when no parent
	// needs it and no objects of that kind remain. Absent if there are none.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=kind
	ChildKinds []ChildKind `json:"childKinds,omitempty"`

	// The namespaces that can contain children, recorded so that children are
	// still found after watch.namespaces is edited. Absent unless
	// serviceAccountRef and watch.namespaces limit the namespaces of children.
	// +optional
	// +listType=set
	ChildNamespaces []string `json:"childNamespaces,omitempty"`

	// All children that were created before this time have been sealed (annotation
	// templater.dev/seal), so an object without a seal is not a child. Absent if
	// there were no such children, or until all of them are sealed.
	// +optional
	SealedSince *metav1.Time `json:"sealedSince,omitempty"`

	// Whether parents may have the finalizer of this TemplateController. While
	// true, it is removed from all of them before this TemplateController is
	// deleted. Always set.
	// +optional
	Finalizes bool `json:"finalizes"`
}

// ParentCounts counts the parents of a TemplateController.
type ParentCounts struct {
	// All parents: the objects that match spec.watch. Always set. It is the sum of
	// ready, failed, waiting and suspended, plus the parents that have not been
	// reconciled yet.
	// +optional
	Total int64 `json:"total"`
	// Parents whose children all match their templates and are ready. Always
	// set.
	// +optional
	Ready int64 `json:"ready"`
	// Parents that cannot be reconciled because of an error, or with a child that
	// has failed. Always set.
	// +optional
	Failed int64 `json:"failed"`
	// Parents that are neither ready nor failed: they wait for children or other
	// objects, or are being deleted. Always set.
	// +optional
	Waiting int64 `json:"waiting"`
	// Parents reconciled at observedGeneration, whatever the result. A change of
	// the spec has reached all parents when updated and suspended add up to total.
	// Always set.
	// +optional
	Updated int64 `json:"updated"`
	// Parents that are not reconciled because spec.suspend is true, or because of
	// their annotation templater.dev/suspend. They do not count as ready, failed,
	// waiting or updated. Always set.
	// +optional
	Suspended int64 `json:"suspended"`
}

// FailingParent is a parent that counts as failed.
type FailingParent struct {
	// Namespace of the parent. Absent for a cluster-scoped parent.
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
	// All children that exist. Always set.
	// +optional
	Total int64 `json:"total"`
	// Children that are ready. Always set.
	// +optional
	Ready int64 `json:"ready"`
}

// ChildKind is a kind of child objects.
type ChildKind struct {
	// API group. Required; the default is empty, for the core group.
	// +kubebuilder:default=""
	Group string `json:"group"`
	// Last used version. Required.
	Version string `json:"version"`
	// Kind. Required.
	Kind string `json:"kind"`
	// Whether a CustomResourceDefinition defines the kind. If so, all its objects
	// are deleted with the CustomResourceDefinition. Absent means false: an
	// aggregated API server keeps the objects while the cluster does not serve
	// them.
	// +optional
	Custom bool `json:"custom,omitempty"`
}

// Condition types of a TemplateController.
const (
	ConditionAccepted       = "Accepted"
	ConditionLinted         = "Linted"
	ConditionWatching       = "Watching"
	ConditionStatusWritable = "StatusWritable"
	ConditionEventsWritable = "EventsWritable" // present only while False
	ConditionLogsReadable   = "LogsReadable"   // present only while False
	ConditionParentsReady   = "ParentsReady"
	ConditionCRDReady       = "CRDReady" // present only with spec.crd
	// ConditionProgressing is present only if a new revision is not yet rolled out completely, or spec.rollout is set.
	ConditionProgressing = "Progressing"
	ConditionReady       = "Ready"
	// ConditionFilterEvaluated is present only while False: the filter cannot be evaluated for some objects.
	ConditionFilterEvaluated = "FilterEvaluated"
)

// Reasons of the conditions of a TemplateController.
const (
	ReasonAccepted            = "Accepted"
	ReasonInvalidTemplate     = "InvalidTemplate"
	ReasonInvalidSpec         = "InvalidSpec"
	ReasonNoStatusSubresource = "NoStatusSubresource"
	ReasonBuiltInKind         = "BuiltInKind"
	// ReasonServiceAccountRequired means that templater runs with --require-service-account.
	ReasonServiceAccountRequired = "ServiceAccountRequired"
	// ReasonTooManyWatches means that the TemplateControllers of a tenant exceed the limit of watches.
	ReasonTooManyWatches = "TooManyWatches"
	// ReasonTooManyTemplateControllers means that a namespace has too many NamespacedTemplateControllers.
	ReasonTooManyTemplateControllers = "TooManyTemplateControllers"
	// ReasonInsufficientMemory means that compiled specs exceed the memory limit.
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

	ReasonEstablished      = "Established"
	ReasonNotEstablished   = "NotEstablished"
	ReasonInvalidCRD       = "InvalidCRD"
	ReasonBreakingChange   = "BreakingChange"
	ReasonCRDNotOwned      = "CRDNotOwned"
	ReasonCRDTerminating   = "CRDTerminating"
	ReasonNamesNotAccepted = "NamesNotAccepted"

	// ReasonPreflightRunning and the next ones are reasons of the Progressing condition.
	ReasonPreflightRunning  = "PreflightRunning"
	ReasonPreflightFailed   = "PreflightFailed"
	ReasonApprovalRequired  = "ApprovalRequired"
	ReasonRollingOut        = "RollingOut"
	ReasonRolloutPaused     = "RolloutPaused"
	ReasonRolloutHalted     = "RolloutHalted"
	ReasonRolloutComplete   = "RolloutComplete"
	ReasonRevisionNotFound  = "RevisionNotFound"
	ReasonRevisionNotStored = "RevisionNotStored"
	ReasonRevisionsDisabled = "RevisionsDisabled"

	ReasonParentsReady  = "ParentsReady"
	ReasonParentsFailed = "ParentsFailed"

	ReasonTooManyLogs      = "TooManyLogs"
	ReasonLogRequestFailed = "LogRequestFailed"

	ReasonReady     = "Ready"
	ReasonSuspended = "Suspended"
	ReasonReleased  = "Released"
	// ReasonDeleting means that a TemplateController is being deleted, and its children are deleted first.
	ReasonDeleting = "Deleting"
)

// Reasons of the ready condition that templater writes into a parent, and of
// the Events on it.
const (
	ReasonProgressing          = "Progressing"
	ReasonWaiting              = "Waiting"
	ReasonOutdated             = "Outdated"
	ReasonTemplateError        = "TemplateError"
	ReasonTemplateFailed       = "TemplateFailed"
	ReasonInvalidChild         = "InvalidChild"
	ReasonChildConflict        = "ChildConflict"
	ReasonChildRejected        = "ChildRejected"
	ReasonChildForbidden       = "ChildForbidden"
	ReasonChildKindNotFound    = "ChildKindNotFound"
	ReasonNamespaceNotFound    = "NamespaceNotFound"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonChildRequestFailed   = "ChildRequestFailed"
	ReasonRelatedUnreadable    = "RelatedUnreadable"
	ReasonChildFailing         = "ChildFailing"
	ReasonStatusRejected       = "StatusRejected"
	ReasonNoLongerMatches      = "NoLongerMatches"
	// ReasonTemplateControllerNotAccepted means that a parent is not reconciled because its TemplateController is not accepted.
	ReasonTemplateControllerNotAccepted = "TemplateControllerNotAccepted"
	// ReasonTemplateControllerDeleted means that a parent is no longer reconciled because its TemplateController is deleted.
	ReasonTemplateControllerDeleted = "TemplateControllerDeleted"
	// ReasonFinalizing means that a parent that is being deleted waits for its cleanup.
	ReasonFinalizing = "Finalizing"
	// ReasonFinalizeTimeout is the reason of an Event: the cleanup took longer than spec.finalize.timeout, and the parent was released.
	ReasonFinalizeTimeout = "FinalizeTimeout"
	// ReasonFinalizerRejected means that the finalizer of a parent cannot be set or removed.
	ReasonFinalizerRejected = "FinalizerRejected"
	ReasonLoopDetected      = "LoopDetected"
	// ReasonSuccessfulDelete is the reason of an Event that names deleted children.
	ReasonSuccessfulDelete = "SuccessfulDelete"
	// ReasonDriftCorrected is the reason of an Event: templater reverted changes
	// of other clients to fields of children.
	ReasonDriftCorrected = "DriftCorrected"
	ReasonInternalError  = "InternalError"
)
