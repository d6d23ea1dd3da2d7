package kind

import (
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/kube/object"
)

// Definitions finds the CustomResourceDefinitions of a kind. A watch.Cache implements it.
type Definitions interface {
	Definitions(kind schema.GroupKind) []*object.Object
	// EverDefined reports whether a CustomResourceDefinition of the kind exists or has existed.
	EverDefined(kind schema.GroupKind) bool
}

// Discovery maps built-in and aggregated kinds. A kube.Discovery implements it.
type Discovery interface {
	RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	Reset()
}

// Minimum intervals between refreshes of discovery, for all callers together: each refresh reads all kinds of the cluster.
const (
	missingKindInterval = 10 * time.Second // if a kind is missing
	notFoundInterval    = 30 * time.Second // if a resource is not found
)

// A Resolver resolves kinds. Custom kinds come from the watched CustomResourceDefinitions, so they are up to date. All other
// kinds come from discovery, which is refreshed at a limited rate if a kind is missing. A Resolver is safe for concurrent use.
type Resolver struct {
	definitions Definitions
	discovery   Discovery
	now         func() time.Time

	mu              sync.Mutex
	reset           time.Time // time of the last refresh of discovery
	builtIn         map[schema.GroupVersionKind]discovered
	discoveredKinds map[schema.GroupKind]bool // kinds that were found in discovery
	read            map[schema.GroupVersionKind]reading
}

// discovered is a kind found in discovery. reset is the time of the discovery refresh that it is based on.
type discovered struct {
	kind  Kind
	reset time.Time
}

// reading is the parsed definition of one version of a kind.
type reading struct {
	definition *object.Object
	kind       Kind
	served     bool
}

// NewResolver returns a Resolver. Both sources must have synced. now returns the current time.
func NewResolver(definitions Definitions, discovery Discovery, now func() time.Time) *Resolver {
	return &Resolver{definitions: definitions, discovery: discovery, now: now, builtIn: map[schema.GroupVersionKind]discovered{}, discoveredKinds: map[schema.GroupKind]bool{}, read: map[schema.GroupVersionKind]reading{}}
}

// Resolve returns the kind in that version. It returns a *NotFoundError if the kind is not served, or the error of a failed
// request.
func (r *Resolver) Resolve(gvk schema.GroupVersionKind) (Kind, error) {
	if known := r.known(gvk); known != nil {
		return known.kind, known.err
	}
	asOf := r.lastReset()
	kind, err := r.discover(gvk) // without the lock, so that a slow request does not block callers with cached results
	if err != nil && r.mayReset(missingKindInterval) {
		r.discovery.Reset()
		asOf = r.lastReset()
		kind, err = r.discover(gvk)
	}
	if meta.IsNoMatchError(err) {
		return Kind{}, r.elsewhere(gvk)
	}
	if err == nil {
		r.note(gvk, discovered{kind, asOf})
	}
	return kind, err
}

// Definitions returns the CustomResourceDefinitions of a kind: see Trim. There is more than one if another one wants the same names.
func (r *Resolver) Definitions(gk schema.GroupKind) []*object.Object {
	return r.definitions.Definitions(gk)
}

// Doubt must be called if a request for a known resource returned NotFound, for example because an upgrade of the control plane
// removed a version of a built-in kind. It reports whether Resolve may now return another result. Discovery is refreshed at most
// every 30 seconds; in between, all callers use its last result.
func (r *Resolver) Doubt(resource schema.GroupVersionResource) bool {
	renewed := r.mayReset(notFoundInterval)
	if renewed {
		r.discovery.Reset()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.builtIn)
	maps.DeleteFunc(r.builtIn, func(_ schema.GroupVersionKind, known discovered) bool {
		return known.kind.Resource == resource && known.reset.Before(r.reset)
	})
	return renewed || len(r.builtIn) < before
}

// note caches a result of discovery.
func (r *Resolver) note(gvk schema.GroupVersionKind, found discovered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.discoveredKinds[gvk.GroupKind()] = true
	if !strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io") {
		r.builtIn[gvk] = found // until Doubt is called
	}
}

// away reports whether the kind was found in discovery before.
func (r *Resolver) away(gk schema.GroupKind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.discoveredKinds[gk]
}

// resolved is the result of Resolve.
type resolved struct {
	kind Kind
	err  error
}

// known returns the result if no request is needed, otherwise nil.
func (r *Resolver) known(gvk schema.GroupVersionKind) *resolved {
	r.mu.Lock()
	defer r.mu.Unlock()
	if definitions := r.definitions.Definitions(gvk.GroupKind()); len(definitions) > 0 {
		kind, err := r.defined(gvk, definitions)
		return &resolved{kind, err}
	}
	delete(r.read, gvk)
	if r.definitions.EverDefined(gvk.GroupKind()) {
		return &resolved{err: &NotFoundError{GVK: gvk}} // discovery may still list the kind, because it is cached
	}
	if known, ok := r.builtIn[gvk]; ok {
		return &resolved{kind: known.kind}
	}
	return nil
}

// lastReset returns the time of the last refresh of discovery.
func (r *Resolver) lastReset() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reset
}

// mayReset reports whether the interval since the last refresh of discovery has passed, and if so, records the current time.
func (r *Resolver) mayReset(interval time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if now.Sub(r.reset) <= interval {
		return false
	}
	r.reset = now
	return true
}

// defined resolves a kind with CustomResourceDefinitions. There is more than one only if their names conflict, and at most one of
// them serves the kind.
func (r *Resolver) defined(gvk schema.GroupVersionKind, definitions []*object.Object) (Kind, error) {
	missing := &NotFoundError{GVK: gvk}
	for _, definition := range definitions {
		if is := r.reading(gvk, definition); is.served {
			return is.kind, nil
		}
		if version := servedVersion(definition); version != "" {
			missing.Served = version
		}
		if missing.Definition == "" || !definition.Deleting() {
			missing.Definition, missing.CRDTerminating = definition.Name(), definition.Deleting()
		}
		if ending, served := endingKind(definition, gvk.Version); served && definition.Deleting() {
			missing.Terminating = &ending
		}
	}
	return Kind{}, missing
}

// elsewhere returns the error for a kind that discovery does not list in that version.
func (r *Resolver) elsewhere(gvk schema.GroupVersionKind) error {
	mapping, err := r.discovery.RESTMapping(gvk.GroupKind())
	switch {
	case err == nil:
		return &NotFoundError{GVK: gvk, Served: mapping.Resource.Version}
	case meta.IsNoMatchError(err):
		return &NotFoundError{GVK: gvk, APIServiceUnavailable: r.away(gvk.GroupKind())}
	}
	return err
}

// reading parses a CustomResourceDefinition, once per state.
func (r *Resolver) reading(gvk schema.GroupVersionKind, definition *object.Object) reading {
	is := r.read[gvk]
	if is.definition != definition {
		is.definition = definition
		is.kind, is.served = customKind(definition, gvk.Version)
		r.read[gvk] = is
	}
	return is
}

func (r *Resolver) discover(gvk schema.GroupVersionKind) (Kind, error) {
	mapping, err := r.discovery.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Kind{}, err
	}
	return Kind{
		Resource: mapping.Resource, Kind: gvk.Kind,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}, nil
}
