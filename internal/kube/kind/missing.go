package kind

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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
	text := fmt.Sprintf("the cluster has no kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
	switch {
	case e.Served != "":
		return text + ", but in version " + e.Served
	case e.Away:
		return text + " now, though it had: see whether the API service that serves it is there (kubectl get apiservices)"
	case e.Going:
		return text + ": CustomResourceDefinition " + e.Definition + " is being deleted"
	case e.Definition != "":
		return text + ": CustomResourceDefinition " + e.Definition + " is there, but does not serve it (kubectl describe crd " + e.Definition + ")"
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
	var notFound *NotFoundError
	return errors.As(err, &notFound) && notFound.Gone()
}

// Ending returns a kind that is still served because the objects of its CustomResourceDefinition, which is being deleted, are not all gone;
// nil where err, why it cannot be resolved, is another reason.
func Ending(err error) *Kind {
	var notFound *NotFoundError
	if !errors.As(err, &notFound) {
		return nil
	}
	return notFound.Ending
}

// Missing reports whether the server does not have a kind, or not in that version: err is why it cannot be resolved.
func Missing(err error) bool {
	var notFound *NotFoundError
	return errors.As(err, &notFound)
}

// Away reports whether the server had the kind before, by an API server of its own, which keeps the objects: err is why it cannot
// be resolved.
func Away(err error) bool {
	var notFound *NotFoundError
	return errors.As(err, &notFound) && notFound.Away
}
