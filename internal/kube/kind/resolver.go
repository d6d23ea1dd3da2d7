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

// Definitions finds the CustomResourceDefinitions of a kind; a watch.Cache does.
type Definitions interface {
	Definitions(kind schema.GroupKind) []*object.Object
	// EverDefined reports whether there is or was one.
	EverDefined(kind schema.GroupKind) bool
}

// Discovery maps built-in and aggregated kinds; kube.Discovery does.
type Discovery interface {
	RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
	Reset()
}

// How often discovery is asked anew at most, for all who call: a discovery reads every kind of the cluster.
const (
	missingInterval = 10 * time.Second // when a kind is missing
	doubtInterval   = 30 * time.Second // when a resource is not found
)

// A Resolver answers which kinds the server has. Custom kinds come from the watched
// definitions, so they are current; the others come from discovery, which is
// asked anew now and then when a kind is missing. It is safe for concurrent use.
type Resolver struct {
	definitions Definitions
	discovery   Discovery
	now         func() time.Time

	mu      sync.Mutex
	reset   time.Time // when discovery was asked anew last
	builtIn map[schema.GroupVersionKind]discovered
	others  map[schema.GroupKind]bool // those that discovery has had
	read    map[schema.GroupVersionKind]reading
}

// discovered is a kind that discovery had when it had last been asked anew at that time.
type discovered struct {
	kind  Kind
	reset time.Time
}

// reading is what a definition says of one version of its kind.
type reading struct {
	definition *object.Object
	kind       Kind
	served     bool
}

// NewResolver returns a Resolver that reads from both sources, which must have
// synced. now is the clock.
func NewResolver(definitions Definitions, discovery Discovery, now func() time.Time) *Resolver {
	return &Resolver{definitions: definitions, discovery: discovery, now: now, builtIn: map[schema.GroupVersionKind]discovered{}, others: map[schema.GroupKind]bool{}, read: map[schema.GroupVersionKind]reading{}}
}

// Resolve returns the kind in that version. The error is a *NotFoundError when the server does
// not have it, else that of a failed request.
func (r *Resolver) Resolve(gvk schema.GroupVersionKind) (Kind, error) {
	if known := r.known(gvk); known != nil {
		return known.kind, known.err
	}
	asOf := r.lastReset()
	kind, err := r.discover(gvk) // without the lock: what has to be asked for holds up nobody who does not
	if err != nil && r.mayReset(missingInterval) {
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

// Doubt reports whether Resolve may answer differently now. The caller has been told that a resource is not found which the server had: an upgrade
// of the control plane removes versions of built-in kinds. Discovery is asked anew at most every 30 seconds; in between, all callers use its last answer.
func (r *Resolver) Doubt(resource schema.GroupVersionResource) bool {
	renewed := r.mayReset(doubtInterval)
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

// note remembers what discovery has.
func (r *Resolver) note(gvk schema.GroupVersionKind, found discovered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others[gvk.GroupKind()] = true
	if !strings.Contains(gvk.Group, ".") || strings.HasSuffix(gvk.Group, ".k8s.io") {
		r.builtIn[gvk] = found // until somebody has reason to Doubt it
	}
}

// away reports whether discovery has had the kind before.
func (r *Resolver) away(gk schema.GroupKind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.others[gk]
}

// resolved is the answer of Resolve.
type resolved struct {
	kind Kind
	err  error
}

// known answers without a request, or returns nil where that cannot be done.
func (r *Resolver) known(gvk schema.GroupVersionKind) *resolved {
	r.mu.Lock()
	defer r.mu.Unlock()
	if definitions := r.definitions.Definitions(gvk.GroupKind()); len(definitions) > 0 {
		kind, err := r.defined(gvk, definitions)
		return &resolved{kind, err}
	}
	delete(r.read, gvk)
	if r.definitions.EverDefined(gvk.GroupKind()) {
		return &resolved{err: &NotFoundError{GVK: gvk}} // though discovery may have it for some time yet, and remembers it
	}
	if known, ok := r.builtIn[gvk]; ok {
		return &resolved{kind: known.kind}
	}
	return nil
}

// lastReset returns when discovery was asked anew last.
func (r *Resolver) lastReset() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reset
}

// mayReset reports whether the interval has passed since discovery was asked anew last, and takes note of the time.
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

// defined answers for a kind with definitions. There is more than one only while they fight for the name,
// and then at most one serves.
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
			missing.Definition, missing.Going = definition.Name(), definition.Deleting()
		}
		if ending, served := endingKind(definition, gvk.Version); served && definition.Deleting() {
			missing.Ending = &ending
		}
	}
	return Kind{}, missing
}

// elsewhere is the error for a kind that discovery does not have in that version.
func (r *Resolver) elsewhere(gvk schema.GroupVersionKind) error {
	mapping, err := r.discovery.RESTMapping(gvk.GroupKind())
	switch {
	case err == nil:
		return &NotFoundError{GVK: gvk, Served: mapping.Resource.Version}
	case meta.IsNoMatchError(err):
		return &NotFoundError{GVK: gvk, Away: r.away(gvk.GroupKind())}
	}
	return err
}

// reading reads a definition, once for each state of it.
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
