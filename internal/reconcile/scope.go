package reconcile

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/rights"
	"github.com/templater-dev/templater/internal/spec"
	"github.com/templater-dev/templater/internal/watch"
)

// roam has children read in these namespaces, besides those that they may be in since before; no
// scope means in all.
func (e *entry) roam(scope []string) {
	if len(scope) == 0 {
		e.namespaces = nil
		return
	}
	next := map[string]bool{} // not the old map, which may be in use
	if e.namespaces == nil && e.current != nil {
		e.current.eachChild(func(_ source, o *object.Object) { next[o.Namespace()] = true })
		delete(next, "")
	}
	maps.Copy(next, e.namespaces)
	for _, ns := range scope {
		next[ns] = true
	}
	e.namespaces = next
}

// leaving reports whether a namespace is watched only because children are left there.
func (c *controller) leaving(namespace string) bool {
	scope := spec.ChildNamespaces(c.spec)
	if scope == nil || namespace == "" {
		return false
	}
	return !slices.Contains(scope, namespace)
}

// retreat stops reading in namespaces that the controller is leaving, once no child is left there. It
// gives up where the account has no rights any more.
func (c *Controllers) retreat(ctx context.Context, e *entry, next *controller) {
	left := false
	for ns := range e.namespaces {
		if !next.leaving(ns) {
			continue
		}
		if !next.hasLeft(ctx, ns) {
			left = true
			continue
		}
		c.mu.Lock()
		e.namespaces = maps.Clone(e.namespaces)
		delete(e.namespaces, ns)
		c.mu.Unlock()
		c.queue.Add(next.name) // to end the watches
	}
	if left {
		c.queue.AddAfter(next.name, rights.BelievedFor)
	}
}

// hasLeft reports whether no child is left in a namespace, or none can be read.
func (c *controller) hasLeft(ctx context.Context, namespace string) bool {
	for _, s := range c.sources {
		cache := s.caches[namespace]
		switch {
		case s.err != nil:
			return false
		case cache == nil:
		case apierrors.IsForbidden(cache.Err()):
			klog.FromContext(ctx).Info("children in a namespace that is watched no longer are left as they are: they may not be read", "controller", c.name, "namespace", namespace, "user", c.as, "resource", s.kind.Resource.Resource)
		case !readable(cache) || c.within(cache, s.kind.GroupKind()):
			return false
		}
	}
	return true
}

// within reports whether a cache holds children of the controller.
func (c *controller) within(cache *watch.Cache, kind schema.GroupKind) bool {
	found := false
	cache.EachChild(c.name, func(o *object.Object) {
		if c.factory.Made(o, kind) {
			found = true
		}
	})
	return found
}

// reads reports whether the controller reads its children by that watch.
func (c *controller) reads(want watch.Want) bool {
	if want.As != c.as {
		return false
	}
	for _, s := range c.sources {
		if s.kind.Resource == want.Resource {
			return s.caches[want.Namespace] != nil
		}
	}
	return false
}
