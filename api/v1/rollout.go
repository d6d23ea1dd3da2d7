package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Rollout defines how a new revision of the templates reaches the existing
// parents. A revision consists of children, finalize, status, values, helpers,
// delimiters and the select templates of related. A change of another field
// does not create a revision.
type Rollout struct {
	// What happens if the API server rejects an object of a new revision in a dry
	// run. Enforce: the revision is not rolled out, and the previous one keeps
	// working. Warn: it is rolled out nevertheless. Optional; the default is
	// Enforce.
	// +optional
	// +kubebuilder:default=Enforce
	Preflight PreflightPolicy `json:"preflight,omitempty"`

	// Selects parents by their labels that get a new revision before all others.
	// Optional; absent or {} means none.
	// +optional
	CanarySelector *metav1.LabelSelector `json:"canarySelector,omitempty"`

	// How many parents have the new revision after each step, as a number or a
	// percentage, which is rounded up. In ascending order. The last step always
	// includes all parents. At most 20. Optional; the default is one step with all
	// parents or, with canarySelector, one with the selected parents before it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:Pattern=`^(100|[1-9]?[0-9])%$`
	// +kubebuilder:validation:items:XValidation:rule="type(self) in [string] || self >= 0",message="must be a number of parents, or a percentage from 0% to 100%"
	Steps []intstr.IntOrString `json:"steps,omitempty"`

	// How long to wait after each step, once its parents are ready. A duration as
	// in resyncPeriod, of at most 28 characters. Optional; the default is 0s.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	Interval string `json:"interval,omitempty"`

	// How long the parents of a step may take to become ready before the rollout
	// halts. A duration as in resyncPeriod, of at most 28 characters, or 0s for no
	// limit. Optional; the default is 10m.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	ReadyTimeout string `json:"readyTimeout,omitempty"`

	// How many parents may fail with the new revision, beyond those that were not
	// ready before. More failures halt the rollout. Optional; the default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxFailed int32 `json:"maxFailed,omitempty"`

	// Whether a new revision needs approval before it is rolled out. None: it does
	// not. Required: status.preview shows what it would change, and nothing is
	// written until approvedRevision names it. Optional; the default is None.
	// +optional
	// +kubebuilder:default=None
	Approval RolloutApproval `json:"approval,omitempty"`

	// The approved revision, as in status.updateRevision and in the output of
	// templater diff. At most 64 characters. Optional.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ApprovedRevision string `json:"approvedRevision,omitempty"`

	// While true, no further step starts. Optional; the default is false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Change this number to try a halted revision again. Optional; the default is
	// 0.
	// +optional
	Retry int64 `json:"retry,omitempty"`
}

// PreflightPolicy defines what happens if a dry run is refused.
//
// +kubebuilder:validation:Enum=Enforce;Warn
type PreflightPolicy string

// The values of PreflightPolicy.
const (
	PreflightEnforce PreflightPolicy = "Enforce"
	PreflightWarn    PreflightPolicy = "Warn"
)

// RolloutApproval defines whether a new revision needs approval.
//
// +kubebuilder:validation:Enum=None;Required
type RolloutApproval string

// The values of RolloutApproval.
const (
	ApprovalNone     RolloutApproval = "None"
	ApprovalRequired RolloutApproval = "Required"
)

// TemplateRevision is a revision of the templates of a TemplateController or
// NamespacedTemplateController. Only templater writes TemplateRevisions. Data can
// contain what the author wrote into spec.values.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Controller",type=string,JSONPath=`.controller.name`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.controller.namespace`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.revision`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TemplateRevision struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The owner of the revision.
	Controller RevisionOwner `json:"controller"`

	// The number of the revision. Numbers increase; a revision that is used again
	// gets a new number.
	Revision int64 `json:"revision"`

	// The part of the spec that the revision consists of, as JSON compressed with
	// gzip.
	Data []byte `json:"data"`

	// The progress of the rollout of this revision. Absent if there was none.
	// +optional
	// +structType=atomic
	Rollout *RolloutState `json:"rollout,omitempty"`

	// Proves that templater wrote this object.
	Seal string `json:"seal"`
}

// TemplateRevisionList is a list of TemplateRevisions.
//
// +kubebuilder:object:root=true
type TemplateRevisionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []TemplateRevision `json:"items"`
}

// RevisionOwner identifies the owner of a TemplateRevision.
type RevisionOwner struct {
	// Namespace of a NamespacedTemplateController; absent for a
	// TemplateController.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the owner.
	Name string `json:"name"`
	// UID of the owner.
	UID types.UID `json:"uid"`
}

// RolloutState is the progress of a rollout.
type RolloutState struct {
	// The revision of the parents that do not have this one. Absent if there is
	// none.
	// +optional
	From string `json:"from,omitempty"`
	// The number of steps that have started.
	Step int32 `json:"step"`
	// The parents that have this revision.
	Selected ParentSelection `json:"selected"`
	// When the last step started. Absent before the first step.
	// +optional
	Started *metav1.Time `json:"started,omitempty"`
	// How many parents were not ready when they got this revision. Absent means 0.
	// +optional
	NotReady int64 `json:"notReady,omitempty"`
	// Whether the rollout is halted, until spec.rollout.retry differs from retry.
	// Absent means false.
	// +optional
	Halted bool `json:"halted,omitempty"`
	// Why the rollout is halted. Absent if it is not.
	// +optional
	Message string `json:"message,omitempty"`
	// The value of spec.rollout.retry when the rollout started or was halted.
	// Absent means 0.
	// +optional
	Retry int64 `json:"retry,omitempty"`
	// Parents with revisions whose rollouts were replaced by this one. They are left
	// unchanged until they get this revision. Absent if there are none.
	// +optional
	Superseded *ParentSelection `json:"superseded,omitempty"`
}

// ParentSelection selects the parents that have a revision.
type ParentSelection struct {
	// The UIDs of the canaries that were selected, at most 1000. Absent means none.
	// +optional
	// +listType=atomic
	Canaries []types.UID `json:"canaries,omitempty"`
	// Selects parents by a hash of their UID: those whose hash is not greater than
	// this hexadecimal number. Absent means none.
	// +optional
	Threshold string `json:"threshold,omitempty"`
	// Whether all parents are selected. Absent means false.
	// +optional
	All bool `json:"all,omitempty"`
}

// RolloutPreview describes what a revision that waits for approval would change.
type RolloutPreview struct {
	// The revision. Required.
	Revision string `json:"revision"`
	// When the preview was made. Required.
	Time metav1.Time `json:"time"`
	// The number of parents that were examined, at most 500. Required.
	Parents int64 `json:"parents"`
	// The number of parents that exist. Required.
	Total int64 `json:"total"`
	// The number of objects that would be created. Required.
	Create int64 `json:"create"`
	// The number of objects that would be updated. Required.
	Update int64 `json:"update"`
	// The number of objects that would be deleted and created again. Required.
	Recreate int64 `json:"recreate"`
	// The number of objects that would be deleted. Required.
	Delete int64 `json:"delete"`
	// The number of parents that would fail. Required.
	Failing int64 `json:"failing"`
	// Some of the changes, at most 5. Absent if there are none.
	// +optional
	// +listType=atomic
	Examples []string `json:"examples,omitempty"`
}
