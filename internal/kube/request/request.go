// Package request is the plain data of requests to an API server, for those who make them and for those who answer. It needs no client.
package request

import (
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
