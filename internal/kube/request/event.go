package request

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Announcement is an Event to be published.
type Announcement struct {
	// As is the user that it is written as; empty is the client's own. An Event is text of an author's in a
	// namespace that the author may have no rights in, so it takes those of the account.
	As string
	// About is the object, Type is Normal or Warning.
	About                 *object.Object
	Type, Reason, Message string
	// Wanted is asked before a request is made, and Answered hears of the server's last answer, unless they are nil. Both
	// are called in the background.
	Wanted   func() bool
	Answered func(error)
}

// EventNamespace returns the namespace of the Events about an object: that of cluster-scoped ones is default.
func EventNamespace(o *object.Object) string {
	return cmp.Or(ObjectNamespace(o), metav1.NamespaceDefault)
}

// ObjectNamespace returns the namespace that an object is looked for in: that of a Namespace is itself, where its users
// look, as long as something can be made there. It is empty for other cluster-scoped objects.
func ObjectNamespace(o *object.Object) string {
	if o.Kind() == "Namespace" && o.APIVersion() == "v1" && !o.Deleting() {
		return o.Name()
	}
	return o.Namespace()
}
