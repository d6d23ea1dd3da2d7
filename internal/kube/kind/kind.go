// Package kind resolves kinds: whether the API server serves them, in which versions, and which fields their status has.
package kind

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind that the API server serves.
type Kind struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Custom reports whether a CustomResourceDefinition defines the kind.
	Custom bool
	// Revision identifies the revision of the CustomResourceDefinition. It is empty for other kinds.
	Revision string
	// Status describes the schema of .status. It is nil if Custom is false or the kind has no status subresource.
	Status *StatusSchema
}

// StatusSchema describes the schema of .status of a custom kind.
type StatusSchema struct {
	// Conditions is empty if .status.conditions can contain conditions. Otherwise, it is an error message with advice.
	Conditions string
	// Atomic reports whether .status.conditions is atomic to the server, so that only one field manager can own it.
	Atomic bool
	// ObservedGeneration reports whether conditions have a field observedGeneration.
	ObservedGeneration bool
	// Fields are the fields allowed in .status; nil allows any.
	Fields *Fields
}

// GroupKind returns the group and kind. They are the same in all versions.
func (k Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Kind}
}

// NotFoundError means that the API server does not serve a kind, or not in that version. Its message lists alternatives.
type NotFoundError struct {
	GVK schema.GroupVersionKind
	// Served is another version in which the kind is served, or "".
	Served string
	// Definition is the name of a CustomResourceDefinition that defines the kind but does not currently serve it, or "". Objects
	// of the kind may exist nevertheless.
	Definition string
	// CRDTerminating reports whether that CustomResourceDefinition is being deleted.
	CRDTerminating bool
	// Terminating is the kind if it is still served because that CustomResourceDefinition is being deleted but still has objects,
	// otherwise nil.
	Terminating *Kind
	// APIServiceUnavailable reports whether the kind was served before, but not by a known CustomResourceDefinition: an aggregated API server
	// serves it, and keeps the objects while it is unavailable.
	APIServiceUnavailable bool
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("the cluster does not serve kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
	switch {
	case e.Served != "":
		return text + "; it is served in version " + e.Served
	case e.APIServiceUnavailable:
		return text + " at the moment: check its APIService (kubectl get apiservices)"
	case e.CRDTerminating:
		return text + ": CustomResourceDefinition " + e.Definition + " is being deleted"
	case e.Definition != "":
		return text + ": CustomResourceDefinition " + e.Definition + " exists, but does not serve it (kubectl describe crd " + e.Definition + ")"
	}
	return text
}

// Gone reports whether no object of the kind can exist, in any version.
func (e *NotFoundError) Gone() bool {
	return e.Served == "" && e.Definition == "" && !e.APIServiceUnavailable
}

// Watched reports whether a change of the watched CustomResourceDefinition will show when the kind is served.
func (e *NotFoundError) Watched() bool { return e.Definition != "" }

// Gone reports whether no object of a kind can exist, because the kind does not exist in any version. err is the error of
// Resolve.
func Gone(err error) bool {
	notFound, ok := errors.AsType[*NotFoundError](err)
	return ok && notFound.Gone()
}

// TerminatingKind returns a kind that is still served because its CustomResourceDefinition is being deleted but still has objects. err is
// the error of Resolve. It returns nil if err has another cause.
func TerminatingKind(err error) *Kind {
	if notFound, ok := errors.AsType[*NotFoundError](err); ok {
		return notFound.Terminating
	}
	return nil
}

// IsCRDTerminating reports whether a kind is not served because its CustomResourceDefinition is being deleted. err is the error of Resolve.
func IsCRDTerminating(err error) bool {
	notFound, ok := errors.AsType[*NotFoundError](err)
	return ok && notFound.CRDTerminating
}

// Missing reports whether a kind is not served, or not in that version. err is the error of Resolve.
func Missing(err error) bool {
	_, ok := errors.AsType[*NotFoundError](err)
	return ok
}

// IsAPIServiceUnavailable reports whether the kind was served before by an aggregated API server, which keeps the objects. err is the error of
// Resolve.
func IsAPIServiceUnavailable(err error) bool {
	notFound, ok := errors.AsType[*NotFoundError](err)
	return ok && notFound.APIServiceUnavailable
}
