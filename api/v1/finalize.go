package v1

// Finalize defines the cleanup before a deleted parent is removed.
//
// +kubebuilder:validation:XValidation:rule="has(self.order) && self.order == 'Reverse' || has(self.children) && self.children.size() > 0",message="nothing to do: set order to Reverse, or set children"
// +kubebuilder:validation:XValidation:rule="!has(self.onTimeout) || self.onTimeout == 'Continue'",fieldPath=".onTimeout",message="onTimeout is no longer supported: the finalizer is always removed when timeout expires. To wait without a limit, as with Block, also remove timeout"
type Finalize struct {
	// Order in which the children are deleted. Reverse: in the reverse order of
	// dependsOn; the next child template follows when all objects of the previous
	// one are deleted. None: all at the same time. In both cases, the parent is
	// removed once its children are deleted. The order has no effect with
	// --cascade=foreground: the garbage collector then deletes the children in any
	// order. Optional; the default is None.
	// +optional
	// +kubebuilder:default=None
	Order FinalizeOrder `json:"order,omitempty"`

	// Child templates as in spec.children, whose objects are created when the
	// parent is deleted, and must all be ready before its children are deleted:
	// for example a Job that makes a backup. They are deleted after the parent,
	// unless their deletionPolicy is Orphan. Names must be unique across both
	// lists. The templates here, and the status template, read the objects of both
	// lists as .children.NAME. Optional. At most 16 entries.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Children []Child `json:"children,omitempty"`

	// Maximum duration of the cleanup. After that, the finalizer is removed from
	// the parent even if the cleanup is not complete. Children without an owner
	// reference (scope Cluster) are deleted about a minute later. The timeout
	// starts with the first complete attempt, in which the API server responds to
	// every write that the cleanup needs. It starts again after a restart of
	// templater, a change of this TemplateController (including suspension), a
	// missing permission, or anything else that prevents a full attempt. A
	// duration: up to four whole numbers of at most five digits, each with its
	// unit h, m, s or ms, such as 90s or 1h30m; at most 28 characters. At least
	// 1s, or 0s to disable it. Optional; without it, the parent waits until its
	// cleanup is complete.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="must be at least 1s, or 0s to disable it"
	Timeout string `json:"timeout,omitempty"`

	// No longer supported: remove the field. With a timeout, the finalizer is
	// always removed when it expires. Continue, which earlier versions stored as
	// the default, means the same and is ignored. Any other value is rejected. To
	// wait without a limit, as with Block, also remove timeout. Optional.
	// +optional
	OnTimeout string `json:"onTimeout,omitempty"`
}

// FinalizeOrder names an order in which children are deleted.
//
// +kubebuilder:validation:Enum=None;Reverse
type FinalizeOrder string

// The orders in which children are deleted.
const (
	FinalizeNone    FinalizeOrder = "None"
	FinalizeReverse FinalizeOrder = "Reverse"
)
