package kind

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kind is a kind that the server has.
type Kind struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Custom is whether a CustomResourceDefinition defines the kind.
	Custom bool
	// Revision differs for different contents of the definition of a custom kind; it is empty for others.
	Revision string
	// Status says what .status can hold. It is nil where Custom is false, or where
	// the kind has no status subresource.
	Status *StatusSchema
}

// StatusSchema says what the .status of a custom kind can hold.
type StatusSchema struct {
	// Conditions is "" when .status.conditions can hold conditions, else it says why it can't, with what to do.
	Conditions string
	// Atomic is whether .status.conditions is one value to the server, which only one manager can write.
	Atomic bool
	// ObservedGeneration is whether a condition can hold observedGeneration.
	ObservedGeneration bool
	// Fields are those that .status can hold; nil is any.
	Fields *Fields
}

// GroupKind returns the group and kind, which are the same in every version.
func (k Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Kind}
}
