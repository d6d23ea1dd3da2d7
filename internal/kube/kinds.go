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
	// Revision differs for different contents of the definition of a custom kind; it is empty for others.
	Revision string
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
	// Away is whether the server had the kind before, and not by a CustomResourceDefinition: an API server of its own has
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
	others  map[schema.GroupKind]bool // those that discovery has had
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
	return &Kinds{definitions: definitions, discovery: discovery, now: now, builtIn: map[schema.GroupVersionKind]Kind{}, custom: map[schema.GroupKind]bool{}, others: map[schema.GroupKind]bool{}, read: map[schema.GroupVersionKind]reading{}}
}

// Resolve returns the kind in that version. The error is a *NotFoundError when the server does
// not have it, else that of a failed request.
func (k *Kinds) Resolve(gvk schema.GroupVersionKind) (Kind, error) {
	if known := k.known(gvk); known != nil {
		return known.kind, known.err
	}
	kind, err := k.discover(gvk) // without the lock: what has to be asked for holds up nobody who does not
	if err != nil && k.mayReset() {
		k.discovery.Reset()
		kind, err = k.discover(gvk)
	}
	if meta.IsNoMatchError(err) {
		return Kind{}, k.elsewhere(gvk)
	}
	if err == nil {
		k.note(gvk, kind)
	}
	return kind, err
}

// note remembers what discovery has.
func (k *Kinds) note(gvk schema.GroupVersionKind, kind Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.others[gvk.GroupKind()] = true
	if !strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io") {
		k.builtIn[gvk] = kind // these stay as long as the server runs
	}
}

// away reports whether discovery has had the kind before.
func (k *Kinds) away(gk schema.GroupKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.others[gk]
}

// resolved is the answer of Resolve.
type resolved struct {
	kind Kind
	err  error
}

// known answers without a request, or returns nil where that cannot be done.
func (k *Kinds) known(gvk schema.GroupVersionKind) *resolved {
	k.mu.Lock()
	defer k.mu.Unlock()
	if definitions := k.definitions.Definitions(gvk.GroupKind()); len(definitions) > 0 {
		k.custom[gvk.GroupKind()] = true
		kind, err := k.defined(gvk, definitions)
		return &resolved{kind, err}
	}
	delete(k.read, gvk)
	if k.custom[gvk.GroupKind()] {
		return &resolved{err: &NotFoundError{GVK: gvk}} // though discovery may have it for some time yet
	}
	if kind, ok := k.builtIn[gvk]; ok {
		return &resolved{kind: kind}
	}
	return nil
}

// mayReset reports whether discovery may be asked anew, and takes note of the time.
func (k *Kinds) mayReset() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if now.Sub(k.reset) <= 10*time.Second {
		return false
	}
	k.reset = now
	return true
}

// defined answers for a kind with definitions. There is more than one only while they fight for the name,
// and then at most one serves.
func (k *Kinds) defined(gvk schema.GroupVersionKind, definitions []*object.Object) (Kind, error) {
	missing := &NotFoundError{GVK: gvk}
	for _, definition := range definitions {
		if r := k.reading(gvk, definition); r.served {
			return r.kind, nil
		}
		if version := servedVersion(definition); version != "" {
			missing.Served = version
		}
		if missing.Definition == "" || !definition.Deleting() {
			missing.Definition, missing.Going = definition.Name(), definition.Deleting()
		}
	}
	return Kind{}, missing
}

// elsewhere is the error for a kind that discovery does not have in that version.
func (k *Kinds) elsewhere(gvk schema.GroupVersionKind) error {
	mapping, err := k.discovery.RESTMapping(gvk.GroupKind())
	switch {
	case err == nil:
		return &NotFoundError{GVK: gvk, Served: mapping.Resource.Version}
	case meta.IsNoMatchError(err):
		return &NotFoundError{GVK: gvk, Away: k.away(gvk.GroupKind())}
	}
	return err
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
