package kube

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/object"
)

// Kind is a kind that the server has.
type Kind struct {
	Resource   schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Custom is whether a CustomResourceDefinition defines the kind.
	Custom bool
	// Status says what .status can hold. It is nil where Custom is false, or where
	// the kind has no status subresource.
	Status *StatusSchema
}

// StatusSchema says what the .status of a custom kind can hold.
type StatusSchema struct {
	// Conditions is "" when .status.conditions can hold conditions of many owners, else it says why
	// it can't, with what to do.
	Conditions string
	// ObservedGeneration is whether a condition can hold observedGeneration.
	ObservedGeneration bool
}

// NotFoundError says that the server does not have a kind, or not in that version.
type NotFoundError struct{ GVK schema.GroupVersionKind }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("the cluster has no kind %s in %s", e.GVK.Kind, e.GVK.GroupVersion())
}

// Definitions finds the CustomResourceDefinitions of a kind; a watch.Cache does.
type Definitions interface {
	Definitions(kind schema.GroupKind) []*object.Object
}

// Discovery maps built-in and aggregated kinds; client-go's deferred RESTMapper does.
type Discovery interface {
	RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	Reset()
}

// Kinds answers which kinds the server has. Custom kinds come from the watched
// definitions, so they are current; the others come from discovery, which is
// asked anew at most every ten seconds when a kind is missing. It is safe for
// concurrent use.
type Kinds struct {
	definitions Definitions
	discovery   Discovery
	now         func() time.Time

	mu      sync.Mutex
	reset   time.Time
	builtIn map[schema.GroupVersionKind]Kind
	custom  map[schema.GroupKind]bool // those that a definition has been seen of
	read    map[schema.GroupVersionKind]reading
}

// reading is what a definition says of one version of its kind.
type reading struct {
	definition *object.Object
	kind       Kind
	served     bool
}

// NewKinds returns a Kinds that reads from both sources, which must have
// synced. now is the clock.
func NewKinds(definitions Definitions, discovery Discovery, now func() time.Time) *Kinds {
	return &Kinds{definitions: definitions, discovery: discovery, now: now, builtIn: map[schema.GroupVersionKind]Kind{}, custom: map[schema.GroupKind]bool{}, read: map[schema.GroupVersionKind]reading{}}
}

// Resolve returns the kind. The error is a *NotFoundError when the server does
// not have it, else that of a failed request.
func (k *Kinds) Resolve(gvk schema.GroupVersionKind) (Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if definitions := k.definitions.Definitions(gvk.GroupKind()); len(definitions) > 0 {
		k.custom[gvk.GroupKind()] = true
		if r := k.reading(gvk, definitions[0]); r.served {
			return r.kind, nil
		}
		return Kind{}, &NotFoundError{gvk}
	}
	if k.custom[gvk.GroupKind()] {
		return Kind{}, &NotFoundError{gvk} // though discovery may have it for some time yet
	}
	if kind, ok := k.builtIn[gvk]; ok {
		return kind, nil
	}
	kind, err := k.discover(gvk)
	if meta.IsNoMatchError(err) && k.now().Sub(k.reset) > 10*time.Second {
		k.reset = k.now()
		k.discovery.Reset()
		kind, err = k.discover(gvk)
	}
	if meta.IsNoMatchError(err) {
		return Kind{}, &NotFoundError{gvk}
	}
	if err == nil && (!strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io")) {
		k.builtIn[gvk] = kind // these stay as long as the server runs
	}
	return kind, err
}

// reading reads a definition, once for each state of it.
func (k *Kinds) reading(gvk schema.GroupVersionKind, definition *object.Object) reading {
	r := k.read[gvk]
	if r.definition != definition {
		r.definition = definition
		r.kind, r.served = customKind(definition, gvk.Version)
		k.read[gvk] = r
	}
	return r
}

func (k *Kinds) discover(gvk schema.GroupVersionKind) (Kind, error) {
	mapping, err := k.discovery.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Kind{}, err
	}
	return Kind{
		Resource: mapping.Resource, Kind: gvk.Kind,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}, nil
}
