// Package request defines the data types of API requests, and classifies API errors.
package request

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Location identifies an API object, or a collection if Name is empty.
type Location struct {
	Resource  schema.GroupVersionResource
	Namespace string // empty for cluster-scoped resources
	Name      string
}

// Metadata is a patch of an object's metadata. Unset fields are not changed.
type Metadata struct {
	// UID is the required UID of the object.
	UID types.UID
	// Version is the required resource version of the object; empty = any.
	Version string
	// Labels and Annotations are set, or removed if the value is nil.
	Labels, Annotations map[string]any
	// Owners replaces all owner references, as JSON data. If nil, they are not changed.
	Owners []any
}

// Patch returns the JSON merge patch.
func (m Metadata) Patch() map[string]any {
	metadata := map[string]any{"uid": string(m.UID)}
	if m.Version != "" {
		metadata["resourceVersion"] = m.Version
	}
	if len(m.Labels) > 0 {
		metadata["labels"] = m.Labels
	}
	if len(m.Annotations) > 0 {
		metadata["annotations"] = m.Annotations
	}
	if m.Owners != nil {
		metadata["ownerReferences"] = m.Owners
	}
	return map[string]any{"metadata": metadata}
}

// Release says which fields a manager no longer owns.
type Release struct {
	// UID is the required UID of the object.
	UID     types.UID
	Manager string
	// Paths are lists of keys. Fields below a path are included.
	Paths [][]string
}

// Deletion contains the options of a delete request.
type Deletion struct {
	// UID is the required UID of the object.
	UID types.UID
	// Version is the required resource version of the object; empty = any.
	Version     string
	Propagation metav1.DeletionPropagation
}

// Permission is a permission: one verb on a resource.
type Permission struct {
	Verb        string
	Resource    schema.GroupResource
	Subresource string
	Namespace   string // empty = all namespaces, or a cluster-scoped resource
	Name        string // empty = all objects
}

// Holder identifies an object that has a certain finalizer.
type Holder struct {
	Name    types.NamespacedName
	Version string   // resource version
	Others  []string // the other finalizers
}

// HolderOf returns the Holder for an object, or false if the object does not have the finalizer.
func HolderOf(o *object.Object, finalizer string) (Holder, bool) {
	all := o.Finalizers()
	if !slices.Contains(all, finalizer) {
		return Holder{}, false
	}
	h := Holder{Name: o.Key(), Version: strings.Clone(o.ResourceVersion())} // the clone does not keep the text of the object in memory
	for _, each := range all {
		if each != finalizer {
			h.Others = append(h.Others, strings.Clone(each))
		}
	}
	return h, true
}

// Announcement is an Event to record.
type Announcement struct {
	// As is the user to impersonate; empty = the client's own user. The text of an Event comes from a template author, who may
	// have no permissions in the namespace, so the Event is written with the permissions of the service account.
	As string
	// About is the object of the Event. Type is Normal or Warning.
	About                 *object.Object
	Type, Reason, Message string
	// Wanted is called before each request; if it returns false, the Event is dropped. Answered is called with the result of the
	// last request. Both are called in the background, and can be nil.
	Wanted   func() bool
	Answered func(error)
}

// EventNamespace returns the namespace for Events about an object. It is ObjectNamespace, or default if that is empty.
func EventNamespace(o *object.Object) string {
	return cmp.Or(ObjectNamespace(o), metav1.NamespaceDefault)
}

// ObjectNamespace returns the namespace of an object. For a Namespace, it is the Namespace itself, where its users look for
// Events, unless it is being deleted and accepts no new objects. It is empty for other cluster-scoped objects.
func ObjectNamespace(o *object.Object) string {
	if o.Kind() == "Namespace" && o.APIVersion() == "v1" && !o.Deleting() {
		return o.Name()
	}
	return o.Namespace()
}

// Observer is notified of the requests of a Client, except watches. The requests must be sequential.
type Observer interface {
	// Asked is called before a request begins.
	Asked()
	// Answered is called when a request has ended, with or without an error. size is the size of the response in bytes.
	Answered(size int)
}

// observerKey is the context key of the Observer.
type observerKey struct{}

// WithObserver returns a context whose requests are reported to o.
func WithObserver(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// ObserverOf returns the Observer of a context, or false.
func ObserverOf(ctx context.Context) (Observer, bool) {
	o, ok := ctx.Value(observerKey{}).(Observer)
	return o, ok
}

// Update are the options of an update.
type Update struct {
	// Manager is the field manager.
	Manager string
	// DryRun is true if nothing is stored.
	DryRun bool
}
