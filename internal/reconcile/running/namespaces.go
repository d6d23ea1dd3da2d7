package running

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

// IsLeaving reports whether a namespace is watched only because children are left there.
func (d *Definition) IsLeaving(namespace string) bool {
	scope := spec.ChildNamespaces(d.Spec)
	if scope == nil || namespace == "" {
		return false
	}
	return !slices.Contains(scope, namespace)
}

// IsDrained reports whether no child is left in a namespace, or none can be read.
func (c *Controller) IsDrained(ctx context.Context, namespace string) bool {
	for _, s := range c.Sources {
		cache := s.Caches[namespace]
		switch {
		case s.Err != nil:
			return false
		case cache == nil:
		case apierrors.IsForbidden(cache.Err()):
			klog.FromContext(ctx).Info("leaving children in a namespace that is no longer watched: not allowed to read them", "controller", c.Name, "namespace", namespace, "user", c.As, "resource", s.Kind.Resource.Resource)
		case cache.Since() == 0 || c.within(cache, s.Kind.GroupKind()):
			return false
		}
	}
	return true
}

// MayNarrow reports whether it is enough to read children in some namespaces from now on: none is in another one than its parent,
// or none that the account may still read.
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

// ReadBy returns the source of the children that the controller reads by that watch, or false.
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

// AbsentNamespaces returns those of spec.watch.namespaces that are known not to be there, in order. One that holds parents
// is not asked about.
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
