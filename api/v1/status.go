package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TemplateControllerStatus is what the operator made of the spec.
type TemplateControllerStatus struct {
	// The metadata.generation that the conditions speak of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// The spec.className of the installation that serves this controller. Absent while
	// none does: before one takes it up, and after one has handed it over.
	// +optional
	ClassName *string `json:"className,omitempty"`

	// Accepted: the spec makes sense. Watching: the kinds exist, may be listed, and
	// are fully read. StatusWritable: parents can hold the ready condition.
	// Ready: accepted and watching.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// How the parents fare. Updated at most every few seconds.
	// +optional
	Parents ParentCounts `json:"parents"`

	// Some of the parents that count as failed, at most 5. One that is named stays until
	// it has recovered.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Failing []FailingParent `json:"failing,omitempty"`

	// How the children fare. Updated at most every few seconds.
	// +optional
	Children ChildCounts `json:"children"`

	// Every kind that this controller may have children of, so that none is lost
	// track of when a template is edited. A kind goes when no parent wants it and nothing
	// of it is left.
	// +optional
	// +listType=map
	// +listMapKey=group
	// +listMapKey=kind
	ChildKinds []ChildKind `json:"childKinds,omitempty"`

	// The namespaces that children may be in, where serviceAccountRef and watch.namespaces
	// limit them, so that none is lost track of when watch.namespaces is edited.
	// +optional
	// +listType=set
	ChildNamespaces []string `json:"childNamespaces,omitempty"`
}

// ParentCounts counts the parents of a controller.
type ParentCounts struct {
	// All parents that match.
	// +optional
	Total int64 `json:"total"`
	// Those whose children are all in line and ready.
	// +optional
	Ready int64 `json:"ready"`
	// Those where an error keeps templater from doing its work, or a child has failed.
	// +optional
	Failed int64 `json:"failed"`
}

// FailingParent is a parent that counts as failed.
type FailingParent struct {
	// Namespace of the parent; absent for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the parent.
	Name string `json:"name"`
	// Reason as in the ready condition of the parent and its Events, for example TemplateError.
	Reason string `json:"reason"`
}

// ChildCounts counts the children of a controller.
type ChildCounts struct {
	// All children that exist.
	// +optional
	Total int64 `json:"total"`
	// Those that are ready.
	// +optional
	Ready int64 `json:"ready"`
}

// ChildKind is a kind of child objects.
type ChildKind struct {
	// API group; empty for the core group.
	// +kubebuilder:default=""
	Group string `json:"group"`
	// Version last used.
	Version string `json:"version"`
	// Kind.
	Kind string `json:"kind"`
}

// Condition types of a TemplateController.
const (
	ConditionAccepted       = "Accepted"
	ConditionWatching       = "Watching"
	ConditionStatusWritable = "StatusWritable"
	ConditionReady          = "Ready"
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

	ReasonWatching     = "Watching"
	ReasonKindNotFound = "KindNotFound"
	ReasonForbidden    = "Forbidden"
	ReasonSyncing      = "Syncing"
	ReasonListFailed   = "ListFailed"
	ReasonNotAccepted  = "NotAccepted"

	ReasonStatusWritable = "StatusWritable"
	ReasonNoConditions   = "NoConditions"
	ReasonConditionOwned = "ConditionOwned"
	ReasonFieldOwned     = "FieldOwned"

	ReasonReady      = "Ready"
	ReasonSuspended  = "Suspended"
	ReasonHandedOver = "HandedOver"
	// ReasonDeleting says that the children of a TemplateController that is being deleted go first.
	ReasonDeleting = "Deleting"
)

// Reasons of the ready condition that templater writes into a parent, and of
// the Events on it.
const (
	ReasonProgressing       = "Progressing"
	ReasonWaiting           = "Waiting"
	ReasonOutdated          = "Outdated"
	ReasonTemplateError     = "TemplateError"
	ReasonTemplateFailed    = "TemplateFailed"
	ReasonInvalidChild      = "InvalidChild"
	ReasonChildConflict     = "ChildConflict"
	ReasonChildRejected     = "ChildRejected"
	ReasonChildForbidden    = "ChildForbidden"
	ReasonChildKindNotFound = "ChildKindNotFound"
	ReasonNamespaceNotFound = "NamespaceNotFound"
	ReasonNamespaceEnding   = "NamespaceTerminating"
	ReasonChildFailed       = "ChildFailed"
	ReasonChildFailing      = "ChildFailing"
	ReasonStatusRejected    = "StatusRejected"
	ReasonLeaving           = "Leaving"
	ReasonLoopDetected      = "LoopDetected"
	ReasonInternalError     = "InternalError"
)
