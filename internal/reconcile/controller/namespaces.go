package controller

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// IsLeaving reports whether a namespace is watched only because it still contains children.
func (d *Definition) IsLeaving(namespace string) bool {
	scope := spec.ChildNamespaces(d.Spec)
	if scope == nil || namespace == "" {
		return false
	}
	return !slices.Contains(scope, namespace)
}

// IsDrained reports whether a namespace contains no more children, or they cannot be read. Kinds that must not be listed are ignored.
func (c *Controller) IsDrained(ctx context.Context, namespace string) bool {
	for _, s := range c.Sources {
		cache := s.Caches[namespace]
		switch {
		case s.Err != nil:
			return false
		case cache == nil:
		case apierrors.IsForbidden(cache.Err()):
			klog.FromContext(ctx).Info("ignoring children in a namespace that is no longer watched: no permission to list them", "controller", c.Name, "namespace", namespace, "user", c.As, "resource", s.Kind.Resource.Resource)
		case cache.Since() == 0 || c.within(cache, s.Kind.GroupKind()):
			return false
		}
	}
	return true
}

// MayNarrow reports whether it is sufficient from now on to watch children in some namespaces: no child is in another namespace than its parent,
// or the service account is not allowed to list it.
func (c *Controller) MayNarrow() bool {
	for gk, s := range c.Sources {
		cache := s.Caches[""]
		if cache == nil || !s.Kind.Namespaced || apierrors.IsForbidden(cache.Err()) {
			continue
		}
		if cache.Since() == 0 {
			return false
		}
		found := false
		cache.EachChild(c.Name, func(o *object.Object) {
			found = found || o.CrossScope() && c.Factory.Made(o, gk)
		})
		if found {
			return false
		}
	}
	return true
}

// ReadBy returns the source whose children are read by that watch, or false.
func (c *Controller) ReadBy(want watch.Want) (Source, bool) {
	if want.As != c.As {
		return Source{}, false
	}
	for _, s := range c.Sources {
		if s.Kind.Resource == want.Resource {
			return s, s.Caches[want.Namespace] != nil
		}
	}
	return Source{}, false
}

// AbsentNamespaces returns namespaces in spec.watch.namespaces that do not exist, in order. Namespaces with parents are not checked.
func (c *Controller) AbsentNamespaces() []string {
	var out []string
	for _, ns := range slices.Sorted(maps.Keys(c.Parents)) {
		if cache := c.Parents[ns]; ns == "" || !cache.Synced() || cache.Len() > 0 {
			continue
		}
		if c.Rights.NamespaceIsAbsent(ns) {
			out = append(out, ns)
		}
	}
	return out
}

// Namespaces is the resource of Namespaces.
var Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
