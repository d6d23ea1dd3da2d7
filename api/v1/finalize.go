package v1

// Finalize defines the cleanup before a deleted parent is removed.
//
// +kubebuilder:validation:XValidation:rule="has(self.order) && self.order == 'Reverse' || has(self.children) && self.children.size() > 0",message="nothing to do: set order to Reverse, or set children"
// +kubebuilder:validation:XValidation:rule="!has(self.onTimeout) || self.onTimeout == 'Continue'",fieldPath=".onTimeout",message="onTimeout is no longer supported: with a timeout, the parent is always released when it expires. For Block, remove timeout, too: without it, the parent waits until its cleanup is done"
type Finalize struct {
	// In which order the children are deleted. Reverse: one child template after
	// the other, the last one in the order of dependsOn first, and the next when
	// all objects of the previous one are deleted. None: all at once. In both
	// cases, the parent is removed once its children are deleted. The order has no
	// effect with --cascade=foreground: the garbage collector then deletes the
	// children in any order. Optional; the default is None.
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

	// How long the cleanup can take. After that, the parent is released even if
	// the cleanup is not done. Children without an owner reference (scope Cluster)
	// are deleted about a minute later. The clock starts with the first full
	// attempt: the API server has answered every write that the cleanup needs. It
	// starts again after a restart of templater, a change of this
	// TemplateController (including suspension), a missing permission, or anything
	// else that prevents a full attempt. A duration: up to four whole numbers of
	// at most five digits, each with its unit h, m, s or ms, such as 90s or 1h30m;
	// at most 28 characters. At least 1s, or 0s for none. Optional; without it,
	// the parent waits until its cleanup is done.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="write 1s or more, or 0s for none"
	Timeout string `json:"timeout,omitempty"`

	// No longer supported: remove the field. With a timeout, the parent is always
	// released when it expires. Continue, which earlier versions stored as the
	// default, means the same and is ignored. Any other value is rejected. To get
	// the behavior of Block, remove timeout, too. Optional.
	// +optional
	OnTimeout string `json:"onTimeout,omitempty"`
}

// FinalizeOrder names an order in which children are deleted.
//
// +kubebuilder:validation:Enum=None;Reverse
type FinalizeOrder string

// The orders.
const (
	FinalizeNone    FinalizeOrder = "None"
	FinalizeReverse FinalizeOrder = "Reverse"
)
