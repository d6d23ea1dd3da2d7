// Package request has the plain data of requests to the API server, and classifies API errors.
package request

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Location names an object on the server.
type Location struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty for cluster-scoped resources
	Name      string
}

// Metadata is a change of an object's metadata: what is not in it stays as it is.
type Metadata struct {
	// UID is that of the object to change.
	UID types.UID
	// Version is the resource version that the object must still have; empty = any.
	Version string
	// Labels and Annotations are set, or taken away where the value is nil.
	Labels, Annotations map[string]any
	// Owners, JSON data, replace all owner references, unless nil.
	Owners []any
}

// Deletion is how an object is deleted.
type Deletion struct {
	// UID is that of the object to delete.
	UID types.UID
	// Version is the resource version that the object must still have; empty = any.
	Version     string
	Propagation metav1.DeletionPropagation
}

// Right is one verb on a resource.
type Right struct {
	Verb        string
	Resource    schema.GroupResource
	Subresource string
	Namespace   string // empty = all namespaces, or a cluster-scoped resource
	Name        string // empty = all objects
}

// Holder is an object that has a certain finalizer.
type Holder struct {
	Name    types.NamespacedName
	Version string   // resource version
	Others  []string // the other finalizers
}

// HolderOf returns the object as a holder of the finalizer, or false where it does not have it.
func HolderOf(o *object.Object, finalizer string) (Holder, bool) {
	all := o.Finalizers()
	if !slices.Contains(all, finalizer) {
		return Holder{}, false
	}
	h := Holder{Name: o.Key(), Version: strings.Clone(o.ResourceVersion())} // not to keep the text of the object
	for _, each := range all {
		if each != finalizer {
			h.Others = append(h.Others, strings.Clone(each))
		}
	}
	return h, true
}

const (
	// LogLimit is how long the server may take for a log. A node that is away keeps it waiting for half a minute.
	LogLimit = 10 * time.Second
	// MostLogRead is how many bytes of a log are read at a time, whatever is wanted of them.
	MostLogRead = 256 << 10
)

// LogOptions say what is wanted of the log of a container.
type LogOptions struct {
	TailLines  int64 // the last ones
	LimitBytes int64 // the last ones of these; at most MostLogRead
	Previous   bool  // the log of the container that ran before the present one
}

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

// Observer hears of the requests that a Client makes, one after the other; watches do not count.
type Observer interface {
	// Asked is called before a request begins.
	Asked()
	// Answered is called when it has ended, whatever the answer, which has so many bytes.
	Answered(size int)
}

// observerKey is for the value of a context that WithObserver gives.
type observerKey struct{}

// WithObserver returns a context whose requests o hears of.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// ObserverOf returns the Observer of a context, or false.
func ObserverOf(ctx context.Context) (Observer, bool) {
	o, ok := ctx.Value(observerKey{}).(Observer)
	return o, ok
}
