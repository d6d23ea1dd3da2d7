package controller

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
	Caches map[string]*watch.Cache // by namespace; "" = all namespaces; empty while the kind is not served
	Err    error                   // why there are no caches although objects may exist
	Bit    uint64                  // represents the kind in summaries
	// Unrecorded is true if status.childKinds of the TemplateController does not contain the kind yet. No child of such a kind has ever been
	// created, and none may be: children of unrecorded kinds would be orphaned by a restart.
	Unrecorded bool
	// Former is true if the templates no longer render the kind.
	Former bool
	// Trial is true if only a new revision needs the kind, which no parent has yet.
	Trial bool
}

// tooManyWatchesError means that the tenant has reached its watch limit.
type tooManyWatchesError struct {
	namespaced bool // the TemplateController is a NamespacedTemplateController
}

func (e tooManyWatchesError) Error() string {
	advice := "list fewer namespaces in spec.watch.namespaces, list none to use one cluster-wide watch per kind, render fewer kinds, or delete other TemplateControllers of the tenant"
	if e.namespaced {
		advice = "render fewer kinds, or delete other NamespacedTemplateControllers in the namespace"
	}
	return "the tenant (all TemplateControllers whose service account is in the same namespace) has reached its watch limit: " + advice
}

// Unwatched reports whether the children are not watched because of the watch limit.
func (s Source) Unwatched() bool {
	_, unwatched := errors.AsType[tooManyWatchesError](s.Err)
	return unwatched
}

// There reports whether the API server serves the kind.
func (s Source) There() bool { return len(s.Caches) > 0 }

// For returns the cache for a namespace, or nil.
func (s Source) For(namespace string) *watch.Cache {
	if cache := s.Caches[""]; cache != nil {
		return cache
	}
	return s.Caches[namespace]
}

// Scope returns the namespace of that cache, or "" for all namespaces.
func (s Source) Scope(namespace string) string {
	if s.Caches[""] != nil {
		return ""
	}
	return namespace
}

// MayCreate reports whether children in a namespace may be created: existing ones are known, and the kind is recorded.
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

// use returns what the controller needs the children for.
func (s Source) use() permissions.Use {
	if s.Former {
		return permissions.FormerChildren
	}
	return permissions.Children
}

// lost returns why children of a kind are not known, or "".
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

// ResolveServed returns a kind in that version or, if that is not served, in another version.
func ResolveServed(kinds Resolver, gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, err := kinds.Resolve(gvk)
	var elsewhere *kind.NotFoundError
	if errors.As(err, &elsewhere) && elsewhere.Served != "" {
		return kinds.Resolve(gvk.GroupKind().WithVersion(elsewhere.Served))
	}
	return found, err
}
