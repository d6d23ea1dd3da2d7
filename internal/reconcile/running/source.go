package running

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Source is where the children of one kind are read from.
type Source struct {
	Kind   kind.Kind
	Caches map[string]*watch.Cache // by namespace; "" = all namespaces; empty while the server does not have the kind
	Err    error                   // why there are none, where there may be objects all the same
	Bit    uint64                  // what stands for the kind in tallies
	// Unrecorded is whether status.childKinds of the TemplateController does not have the kind yet. No child of such a kind was ever
	// created, and none may be: a child whose kind is not on record would be lost in a restart.
	Unrecorded bool
	// Former is whether the templates no longer yield the kind.
	Former bool
}

// ErrTooManyWatches says that the tenant has as many watches as it may have.
var ErrTooManyWatches = errors.New("the tenant (a namespace of service accounts) has reached its limit of watches: name fewer namespaces in spec.watch.namespaces, remove them all to read each kind with one cluster-wide watch, render fewer kinds, or delete other TemplateControllers of the tenant")

// Unwatched reports whether the children are not watched because that would be too many watches.
func (s Source) Unwatched() bool { return errors.Is(s.Err, ErrTooManyWatches) }

// There reports whether the server has the kind.
func (s Source) There() bool { return len(s.Caches) > 0 }

// For returns the cache that holds the objects of a namespace, or nil.
func (s Source) For(namespace string) *watch.Cache {
	if cache := s.Caches[""]; cache != nil {
		return cache
	}
	return s.Caches[namespace]
}

// Scope returns the namespace of that cache, which is empty where it is of all.
func (s Source) Scope(namespace string) string {
	if s.Caches[""] != nil {
		return ""
	}
	return namespace
}

// MayCreate reports whether children in a namespace may be created: those that exist are known, and the kind is on record.
func (s Source) MayCreate(namespace string) bool { return !s.Unrecorded && Readable(s.For(namespace)) }

// AnyReadable reports whether children can be read in at least one namespace.
func (s Source) AnyReadable() bool {
	for _, cache := range s.Caches {
		if Readable(cache) {
			return true
		}
	}
	return false
}

// use is what the controller does with the children.
func (s Source) use() permissions.Use {
	if s.Former {
		return permissions.FormerChildren
	}
	return permissions.Children
}

// lost returns why the children of a kind that is not served are not all known, or "".
func (s Source) lost() (reason, message string) {
	switch {
	case kind.Missing(s.Err):
		return v1.ReasonKindNotFound, "cannot list children: " + s.Err.Error() + Untouched
	case s.Unwatched():
		return v1.ReasonTooManyWatches, fmt.Sprintf("children of kind %s are not watched: %s%s", s.Kind.Kind, s.Err, Untouched)
	case s.Err != nil:
		return v1.ReasonListFailed, fmt.Sprintf("cannot list children of kind %s: API discovery failed: %s%s", s.Kind.Kind, problem.PublicReason(s.Err), Untouched)
	}
	return "", ""
}

// ResolveServed returns a kind in that version, or in another one where the server does not have that.
func ResolveServed(kinds Resolver, gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := kinds.Resolve(gvk)
	var elsewhere *kind.NotFoundError
	if errors.As(err, &elsewhere) && elsewhere.Served != "" {
		return kinds.Resolve(gvk.GroupKind().WithVersion(elsewhere.Served))
	}
	return found, err
}
