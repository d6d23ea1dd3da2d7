package controller

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// EachChild calls f for every object that carries this controller's label. f must not read the caches of children. It must not call Parent,
// because Parent may read them for the filter.
func (c *Controller) EachChild(f func(Source, *object.Object)) {
	for _, s := range c.Sources {
		for _, cache := range s.Caches {
			cache.EachChild(c.Name, func(o *object.Object) { f(s, o) })
		}
	}
}

// ParentOf returns the name of the parent that a child was created for.
func (c *Controller) ParentOf(child *object.Object) types.NamespacedName {
	namespace, name := child.ParentName()
	parent := types.NamespacedName{Name: strings.Clone(name)} // it is retained longer than the child
	switch {
	case !c.Kind.Namespaced:
	case namespace == child.Namespace():
		parent.Namespace = child.Namespace() // which does not reference the child's text
	default:
		parent.Namespace = strings.Clone(namespace)
	}
	return parent
}

// Concerned returns the parent to enqueue for a change of a labeled object, or false. Anyone may label objects and name any parent. So a missing
// parent is only enqueued for owned children that were created for it, because each one takes a place in the rate-limited queue of missing
// parents. The filter is not evaluated.
func (c *Controller) Concerned(o *object.Object, kind schema.GroupKind) (types.NamespacedName, bool) {
	parent := c.ParentOf(o)
	switch {
	case parent.Name == "":
		return parent, false
	case c.selected(parent) != nil:
		return parent, true
	}
	return parent, mayBeName(parent.Namespace) && mayBeName(parent.Name) && c.Factory.Names(o, kind)
}

// mayBeName reports whether a missing object or its namespace can have this name.
func mayBeName(name string) bool {
	return len(name) <= validation.DNS1123SubdomainMaxLength && len(content.IsPathSegmentName(name)) == 0
}

// ChildrenNamed returns the children of all parents of that name, of any UID.
func (c *Controller) ChildrenNamed(parent types.NamespacedName) []*child.Live {
	find := func(cache *watch.Cache) []*object.Object { return cache.ChildrenNamed(c.Name, parent) }
	return c.Children(parent.Namespace, find, func(kind kind.Kind, o *object.Object) *child.Live {
		if !c.Factory.Made(o, kind.GroupKind()) {
			return nil
		}
		return c.Factory.Live(kind, o)
	})
}

// ChildrenOf returns the children of one parent.
func (c *Controller) ChildrenOf(parent *object.Object) []*child.Live {
	find := func(cache *watch.Cache) []*object.Object { return cache.Children(c.Name, parent.UID()) }
	own := func(kind kind.Kind, o *object.Object) *child.Live {
		if !c.Factory.Belongs(o, kind.GroupKind(), parent) {
			return nil
		}
		return c.Factory.LiveOf(kind, o, parent)
	}
	all := c.Children(parent.Namespace(), find, own)
	if c.dry != nil {
		all = c.dry.over(all, own)
	}
	return all
}

// Children returns the children in a namespace, or in all namespaces if it is empty. live returns nil for an object that is not a child.
func (c *Controller) Children(namespace string, find func(*watch.Cache) []*object.Object, live func(kind.Kind, *object.Object) *child.Live) []*child.Live {
	var out []*child.Live
	for _, s := range c.Sources {
		for in, cache := range s.Caches {
			if in != namespace && in != "" && namespace != "" {
				continue
			}
			for _, o := range find(cache) {
				if l := live(s.Kind, o); l != nil {
					out = append(out, l)
				}
			}
		}
	}
	return child.Sort(out)
}

// LeftBehind returns the remaining children of a missing parent that must be deleted or orphaned. Children that outlive their parent are only
// included if the parent may still exist without matching.
func (c *Controller) LeftBehind(key queue.Key) []*child.Live {
	mayExist := c.Selective() // without matching
	return slices.DeleteFunc(c.ChildrenNamed(key.Parent), func(l *child.Live) bool {
		return l.Object.Deleting() || !mayExist && l.Outlives()
	})
}

// within reports whether a cache contains children of the controller.
func (c *Controller) within(cache *watch.Cache, kind schema.GroupKind) bool {
	found := false
	cache.EachChild(c.Name, func(o *object.Object) {
		if c.Factory.Made(o, kind) {
			found = true
		}
	})
	return found
}

// NothingLeft reports whether no object of a kind carries the label of this controller. It returns false if this is not certain.
func (c *Controller) NothingLeft(s Source) bool {
	if s.Err != nil {
		return false
	}
	found := false
	for _, cache := range s.Caches {
		if cache.Since() == 0 {
			return false
		}
		cache.EachChild(c.Name, func(*object.Object) { found = true })
	}
	return !found
}

// AllSealed reports whether all children are known, and none lacks a seal. Children whose parent does not match or exist count only if leftovers
// is true and they are deleted with their parent. Children of terminating parents do not count.
func (c *Controller) AllSealed(leftovers bool) bool {
	if !c.CompleteEverywhere() || !c.ParentsComplete() {
		return false
	}
	var unsealed []*child.Live
	c.EachChild(func(s Source, o *object.Object) {
		if c.Factory.Unsealed(o, s.Kind.GroupKind()) {
			unsealed = append(unsealed, c.Factory.Live(s.Kind, o))
		}
	})
	return !slices.ContainsFunc(unsealed, func(l *child.Live) bool {
		if parent := c.Parent(c.ParentOf(l.Object)); parent != nil && l.MadeFor(parent.UID()) {
			return !parent.Deleting()
		}
		return leftovers && !l.Outlives()
	})
}

// MissingParents returns the names of parents of children, and those in counted, for which no matching parent exists.
func (c *Controller) MissingParents(counted []types.NamespacedName) []types.NamespacedName {
	missing := map[types.NamespacedName]struct{}{}
	c.EachChild(func(s Source, o *object.Object) {
		if name, concerned := c.Concerned(o, s.Kind.GroupKind()); concerned {
			missing[name] = struct{}{}
		}
	})
	for _, name := range counted {
		missing[name] = struct{}{}
	}
	maps.DeleteFunc(missing, func(name types.NamespacedName, _ struct{}) bool { return c.Parent(name) != nil })
	return slices.Collect(maps.Keys(missing))
}

// KeepParent stores the response of a write in the parent cache.
func (c *Controller) KeepParent(after *object.Object) {
	if cache := c.ParentCache(after.Namespace()); cache != nil && c.dry == nil {
		cache.Put(after, c.Name)
	}
}

// Keep stores the response of a write in the child cache.
func (c *Controller) Keep(after *object.Object, kind kind.Kind) {
	child.NoteWritten(after)
	if c.dry != nil {
		c.dry.keep(after, kind)
		return
	}
	cache := c.Sources[kind.GroupKind()].For(after.Namespace())
	cache.Put(after, c.Name)
	c.Factory.Departed.Note(after, cache.Get(after.Key())) // the watch may have delivered a later state before the response
}
