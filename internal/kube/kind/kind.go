// Package kind resolves kinds: whether the API server serves them, in which versions, and which fields their status has.
package kind

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

// NotFoundError says that the server does not have a kind, or not in that version. Its text says what
// there is instead.
type NotFoundError struct {
	GVK schema.GroupVersionKind
	// Served is another version that the server has the kind in, "" when there is none.
	Served string
	// Definition is the name of a CustomResourceDefinition that defines the kind and does not
	// serve it now, or "". There may be objects of the kind all the same.
	Definition string
	// Going is whether that CustomResourceDefinition is being deleted.
	Going bool
	// Ending is the kind as it is served still where that CustomResourceDefinition waits for its objects to go, else nil.
	Ending *Kind
	// Away is whether the server had the kind before, and not by a CustomResourceDefinition, as far as is known: an API server of its own has
	// it, which keeps the objects when it is away.
	Away bool
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("the cluster does not serve kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
	switch {
	case e.Served != "":
		return text + ", but in version " + e.Served
	case e.Away:
		return text + " at the moment: check its APIService (kubectl get apiservices)"
	case e.Going:
		return text + ": CustomResourceDefinition " + e.Definition + " is being deleted"
	case e.Definition != "":
		return text + ": CustomResourceDefinition " + e.Definition + " exists, but does not serve it (kubectl describe crd " + e.Definition + ")"
	}
	return text
}

// Gone reports whether there can be no object of the kind, in any version.
func (e *NotFoundError) Gone() bool { return e.Served == "" && e.Definition == "" && !e.Away }

// Watched reports whether a change of the definition will tell when the kind is there.
func (e *NotFoundError) Watched() bool { return e.Definition != "" }

// Gone reports whether there is no object of a kind, because the server does not have the kind at all: err is why it cannot
// be resolved.
func Gone(err error) bool {
	notFound, ok := errors.AsType[*NotFoundError](err)
	return ok && notFound.Gone()
}

// Ending returns a kind that is still served because the objects of its CustomResourceDefinition, which is being deleted, are not all gone;
// nil where err, why it cannot be resolved, is another reason.
func Ending(err error) *Kind {
	if notFound, ok := errors.AsType[*NotFoundError](err); ok {
		return notFound.Ending
	}
	return nil
}

// Ended reports whether the server does not serve a kind because its CustomResourceDefinition is being deleted: err is why it cannot be resolved.
func Ended(err error) bool {
	notFound, ok := errors.AsType[*NotFoundError](err)
	return ok && notFound.Going
}

// Missing reports whether the server does not have a kind, or not in that version: err is why it cannot be resolved.
func Missing(err error) bool {
	_, ok := errors.AsType[*NotFoundError](err)
	return ok
}

// Away reports whether the server had the kind before, by an API server of its own, which keeps the objects: err is why it cannot
// be resolved.
func Away(err error) bool {
	notFound, ok := errors.AsType[*NotFoundError](err)
	return ok && notFound.Away
}
