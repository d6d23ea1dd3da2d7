package v1

// Finalize says what happens before a parent goes that is being deleted.
//
// +kubebuilder:validation:XValidation:rule="has(self.order) && self.order == 'Reverse' || has(self.children) && self.children.size() > 0",message="nothing to do: set order to Reverse, or give at least one entry in children"
// +kubebuilder:validation:XValidation:rule="!has(self.onTimeout) || self.onTimeout == 'Continue'",fieldPath=".onTimeout",message="onTimeout was removed: with a timeout, the parent is always released once it has passed. For Block, remove timeout, too: without it, the parent waits until its cleanup is done"
type Finalize struct {
	// In which order the children go. Reverse: entry by entry, the last one in the
	// order of dependsOn first, and each when nothing is left of the one before.
	// None: all at once. In both cases the parent goes when its children are gone.
	// Not where it is deleted with --cascade=foreground: then the garbage
	// collector takes them, in no order. Optional; the default is None.
	// +optional
	// +kubebuilder:default=None
	Order FinalizeOrder `json:"order,omitempty"`

	// Entries as in spec.children, whose objects are made when somebody deletes
	// the parent, and must all be ready before its children go: a Job that makes a
	// backup. They go after the parent, unless their deletionPolicy is Orphan. The
	// names of both lists must differ. The templates here, and the status
	// template, see the objects of both lists as .children.NAME. Optional. At most
	// 16 entries.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Children []Child `json:"children,omitempty"`

	// How long the cleanup may take. After that, the parent is released even if
	// the cleanup is not done. Children without an owner reference (scope Cluster)
	// are deleted about a minute later. The clock starts with the first full
	// attempt: the API server has answered every write that the cleanup needs. It
	// starts again after a restart of templater, a change of this
	// TemplateController (suspension included), a missing permission, or anything
	// else that prevents a full attempt. A duration: up to four whole numbers of
	// at most five digits, each with its unit h, m, s or ms, such as 90s or 1h30m;
	// at most 28 characters. At least 1s, or 0s for none. Optional; without it,
	// the parent waits until its cleanup is done.
	// +optional
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="write 1s or more, or 0s for none"
	Timeout string `json:"timeout,omitempty"`

	// Removed: remove the field. With a timeout, the parent is always released
	// when it has passed. Continue, which earlier versions stored as the default,
	// means the same and is ignored. Any other value is refused. To get the
	// behavior of Block, remove timeout, too. Optional.
	// +optional
	OnTimeout string `json:"onTimeout,omitempty"`
}

// FinalizeOrder names an order in which children go.
//
// +kubebuilder:validation:Enum=None;Reverse
type FinalizeOrder string

// The orders.
const (
	FinalizeNone    FinalizeOrder = "None"
	FinalizeReverse FinalizeOrder = "Reverse"
)
