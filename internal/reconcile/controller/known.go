package controller

import (
	"slices"

	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/related"
)

// ParentsSynced reports whether the caches for parents in that namespace have synced.
func (c *Caches) ParentsSynced(namespace string) bool {
	if c.Namespaces != nil && !c.Namespaces.Synced() {
		return false
	}
	cache := c.ParentCache(namespace)
	return cache == nil || cache.Synced()
}

// SyncingParents reports whether any cache for parents has not completed its initial list.
func (c *Caches) SyncingParents() bool {
	syncing := c.Namespaces != nil && !c.Namespaces.Synced() && c.Namespaces.Err() == nil
	for _, cache := range c.Parents {
		syncing = syncing || !cache.Synced() && cache.Err() == nil
	}
	return syncing
}

// ParentsComplete reports whether all parents are known, and no watch for them has failed.
func (c *Caches) ParentsComplete() bool {
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

// SyncingChildren reports whether any cache for children in that namespace has not completed its initial list, or their kind is about to be
// recorded. Kinds on trial only count if trial is true.
func (c *Caches) SyncingChildren(namespace string, trial bool) bool {
	for _, s := range c.Sources {
		cache := s.For(namespace)
		switch {
		case cache == nil, s.Trial && !trial:
		case s.Unrecorded && Readable(cache), !cache.Synced() && cache.Err() == nil:
			return true
		}
	}
	return false
}

// childrenSynced reports whether all caches for children in that namespace have synced.
func (c *Caches) childrenSynced(namespace string) bool {
	for _, s := range c.Sources {
		if cache := s.For(namespace); s.Err != nil || cache != nil && !cache.Synced() {
			return false
		}
	}
	return true
}

// SyncingRelated reports whether any cache for related objects has not completed its initial list.
func (c *Caches) SyncingRelated() bool {
	return slices.ContainsFunc(c.Related, func(e *related.Entry) bool { return e.State() == related.Waiting })
}

// Decisions to delete depend on watches, which may fail at any time. The Since methods return a number that identifies the data of such a
// decision: 0 while some of the data is not current, and a greater number each time it becomes current again. A decision is valid as long as the
// number does not change: see watch.Cache.Since.

// CurrentSince covers the data that determines which objects of a namespace are parents, and which children they have. A failed watch has stale
// data: a newer version of the parent may still need a child that seems superfluous.
func (c *Caches) CurrentSince(namespace string) uint64 {
	return since(c.ParentCache(namespace), c.Namespaces, c.Controllers)
}

// CompleteSince is like CurrentSince, and also covers all children in that namespace.
func (c *Caches) CompleteSince(namespace string) uint64 {
	sum := c.CurrentSince(namespace)
	for _, s := range c.Sources {
		now := since(s.For(namespace))
		if s.Err != nil || now == 0 || sum == 0 {
			return 0
		}
		sum += now
	}
	return sum
}

// EverywhereSince covers the children in all namespaces, and the TemplateController.
func (c *Caches) EverywhereSince() uint64 {
	controllers, children := since(c.Controllers), c.childrenSince()
	if controllers == 0 || children == 0 {
		return 0
	}
	return controllers + children
}

// childrenSince covers the children in all namespaces. Unrecorded kinds have none.
func (c *Caches) childrenSince() uint64 {
	sum := uint64(1)
	for _, s := range c.Sources {
		if s.Unrecorded {
			continue
		}
		if s.Err != nil {
			return 0
		}
		for _, cache := range s.Caches {
			now := since(cache)
			if now == 0 {
				return 0
			}
			sum += now
		}
	}
	return sum
}

// ChildrenReadable reports whether all kinds of children are known, and none of their watches has failed. This is not sufficient for deletions.
func (c *Controller) ChildrenReadable() bool {
	for _, s := range c.Sources {
		if s.Unrecorded {
			continue
		}
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

// RelatedSince covers all related objects.
func (c *Caches) RelatedSince() uint64 { return c.relatedSince((*related.Entry).Since) }

// ReadSince is like RelatedSince, but optional related entries that are absent count as empty.
func (c *Controller) ReadSince() uint64 { return c.relatedSince((*related.Entry).ReadSince) }

func (c *Caches) relatedSince(of func(*related.Entry) uint64) uint64 {
	sum := uint64(1)
	for _, e := range c.Related {
		now := of(e)
		if now == 0 {
			return 0
		}
		sum += now
	}
	return sum
}

// since sums the Since numbers of caches, or returns 0 if any cache is not current.
func since(caches ...*watch.Cache) uint64 {
	sum := uint64(1)
	for _, cache := range caches {
		if cache == nil {
			continue // its kind is not served: there are no objects
		}
		now := cache.Since()
		if now == 0 {
			return 0
		}
		sum += now
	}
	return sum
}

// Complete reports whether all children in that namespace are known, and the data that determines which of them are needed.
func (c *Caches) Complete(namespace string) bool { return c.CompleteSince(namespace) != 0 }

// RelatedComplete reports whether all related objects are known and current.
func (c *Caches) RelatedComplete() bool { return c.RelatedSince() != 0 }

// CompleteEverywhere reports whether all children are known.
func (c *Caches) CompleteEverywhere() bool { return c.childrenSince() != 0 }

// Current reports whether the caches are current that determine which objects of a namespace are parents, and how to reconcile them.
func (c *Caches) Current(namespace string) bool { return c.CurrentSince(namespace) != 0 }

// Readable reports whether the cache is synced and its watch has not failed. It returns true for nil: a kind that is not served has no objects.
// This is not sufficient for deletions: see Since.
func Readable(cache *watch.Cache) bool { return cache == nil || cache.Readable() }

// Readable reports whether none of the watches that CompleteSince and RelatedSince cover has failed. If these nevertheless return 0, a watch is
// between two requests, and no event reports when it runs again.
func (c *Controller) Readable(namespace string) bool {
	if !Readable(c.ParentCache(namespace)) || !Readable(c.Namespaces) || !Readable(c.Controllers) {
		return false
	}
	for _, s := range c.Sources {
		if s.Err != nil || !Readable(s.For(namespace)) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Related, func(e *related.Entry) bool { return !e.Readable() })
}
