package running

import (
	"slices"

	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/watch"
)

// ParentsSynced reports whether the parents of that namespace are all known.
func (c *Controller) ParentsSynced(namespace string) bool {
	if c.Namespaces != nil && !c.Namespaces.Synced() {
		return false
	}
	cache := c.ParentCache(namespace)
	return cache == nil || cache.Synced()
}

// ParentsComplete reports whether all parents are known, as they are now.
func (c *Controller) ParentsComplete() bool {
	if !Readable(c.Namespaces) {
		return false
	}
	for _, cache := range c.Parents {
		if !Readable(cache) {
			return false
		}
	}
	return true
}

// SyncingChildren reports whether some children in that namespace are still being read for the first time.
func (c *Controller) SyncingChildren(namespace string) bool {
	for _, s := range c.Sources {
		if cache := s.For(namespace); cache != nil && !cache.Synced() && cache.Err() == nil {
			return true
		}
	}
	return false
}

// SyncingRelated reports whether some related objects are still being read for the first time.
func (c *Controller) SyncingRelated() bool {
	return slices.ContainsFunc(c.Related, func(e *related.Entry) bool { return e.State() == related.Waiting })
}

// Complete reports whether all children in that namespace are known, and what they are for.
func (c *Controller) Complete(namespace string) bool {
	if !c.Current(namespace) {
		return false
	}
	for _, s := range c.Sources {
		if s.Err != nil || !Readable(s.For(namespace)) {
			return false
		}
	}
	return true
}

// RelatedComplete reports whether all related objects are known as they are now.
func (c *Controller) RelatedComplete() bool {
	return !slices.ContainsFunc(c.Related, func(e *related.Entry) bool { return !e.Complete() })
}

// CompleteEverywhere reports whether all children are known.
func (c *Controller) CompleteEverywhere() bool {
	for _, s := range c.Sources {
		if s.Err != nil {
			return false
		}
		for _, cache := range s.Caches {
			if !Readable(cache) {
				return false
			}
		}
	}
	return true
}

// Current reports whether what decides who is a parent in a namespace, and what becomes of it, is known as it is
// now. A watch that has failed shows what was: something newer may want what looks superfluous.
func (c *Controller) Current(namespace string) bool {
	return Readable(c.ParentCache(namespace)) && Readable(c.Namespaces) && Readable(c.Controllers)
}

// Readable reports whether what the cache is of is all known. Objects of a
// kind that the server does not have are: there are none.
func Readable(cache *watch.Cache) bool {
	return cache == nil || cache.Synced() && cache.Err() == nil
}
