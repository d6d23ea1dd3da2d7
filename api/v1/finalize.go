package v1

// Finalize says what happens before a parent goes that is being deleted.
//
// +kubebuilder:validation:XValidation:rule="has(self.order) && self.order == 'Reverse' || has(self.children) && self.children.size() > 0",message="nothing to do: set order to Reverse, or give at least one entry in children"
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

	// How long all of this may take, from the moment when somebody deletes the
	// parent; then onTimeout counts. A duration: up to four whole numbers of at
	// most five digits, each with its unit h, m, s or ms, such as 90s or 1h30m; at
	// most 28 characters. At least 1s, or 0s for no end. Optional; the default is
	// 10m.
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(h|m|s|ms)){1,4}$`
	// +kubebuilder:validation:MaxLength=28
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) == duration('0s') || duration(self) >= duration('1s')",message="write 1s or more, or 0s for no end"
	Timeout string `json:"timeout,omitempty"`

	// What becomes of a parent that is not done when the timeout has passed.
	// Continue: it goes, and the garbage collector takes what is left of its
	// children; those without owner reference, of entries with scope Cluster,
	// templater deletes about a minute later. Block: it stays until all is done,
	// and its ready condition says what is missing. Optional; the default is
	// Continue.
	// +optional
	// +kubebuilder:default=Continue
	OnTimeout OnTimeout `json:"onTimeout,omitempty"`
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

// OnTimeout says what becomes of a parent that takes too long to go.
//
// +kubebuilder:validation:Enum=Continue;Block
type OnTimeout string

// What there is to do on a timeout.
const (
	TimeoutContinue OnTimeout = "Continue"
	TimeoutBlock    OnTimeout = "Block"
)
